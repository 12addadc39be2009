/** To come. */
export const nodes = {};
