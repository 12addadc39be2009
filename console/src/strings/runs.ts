/** To come. */
export const runs = {};
