/** Short texts stored in the browser. A browser that blocks site data stores nothing, and the page works without them. */

type Storages = 'localStorage' | 'sessionStorage';

export function storedText(storage: Storages, key: string): string | null {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

/** False if the browser did not store it: storage is blocked, or full. */
export function storeText(storage: Storages, key: string, text: string): boolean {
  try {
    globalThis[storage].setItem(key, text);
    return true;
  } catch {
    return false;
  }
}

export function dropText(storage: Storages, key: string): void {
  try {
    globalThis[storage].removeItem(key);
  } catch {
    // Where it is blocked, it is empty.
  }
}
