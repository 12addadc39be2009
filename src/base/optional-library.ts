/** Libraries that an installation from sources may lack [platform §1.7] (`npm ci --omit=dev`) are loaded here. */

/** The library, or null if it is not installed. Throws if the library is installed but fails to load. */
export async function optionalLibrary<Library>(load: () => Promise<Library>): Promise<Library | null> {
  try {
    return await load();
  } catch (error) {
    if (isLeftOut(error)) return null;
    throw error;
  }
}

/** How to install a missing library. */
export function leftOut(use: string, library: string): string {
  return `${use} needs the package ${library}, which is not installed: install it too, or use the built program`;
}

/** True if a package is missing; false if one of its files is. */
function isLeftOut(error: unknown): boolean {
  return (
    error instanceof Error &&
    Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND' &&
    error.message.startsWith('Cannot find package')
  );
}
