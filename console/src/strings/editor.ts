/** To come. */
export const editor = {};
