/** To come. */
export const forecasts = {};
