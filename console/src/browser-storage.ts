/** Short texts stored in the browser. A browser that blocks site data stores nothing, and the page works without them. */

type Storages = 'localStorage' | 'sessionStorage';

export function storedText(storage: Storages, key: string): string | null {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

export function storeText(storage: Storages, key: string, text: string): void {
  try {
    globalThis[storage].setItem(key, text);
  } catch {
    // Blocked or full: the text lasts as long as the page.
  }
}

export function dropText(storage: Storages, key: string): void {
  try {
    globalThis[storage].removeItem(key);
  } catch {
    // Where it is blocked, it is empty.
  }
}
