/** Libraries that an installation from sources may lack [platform §1.7] (`npm ci --omit=dev`): what needs one asks here. */

/** The library, or null where it is not installed. A library that is there and fails throws. */
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

/** A package that cannot be found; a file of a package that is there is another matter. */
function isLeftOut(error: unknown): boolean {
  return (
    error instanceof Error &&
    Reflect.get(error, 'code') === 'ERR_MODULE_NOT_FOUND' &&
    error.message.startsWith('Cannot find package')
  );
}
