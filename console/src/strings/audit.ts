/** To come. */
export const audit = {};
