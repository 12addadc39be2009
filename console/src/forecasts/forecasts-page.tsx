/** To come. */
export function ForecastsPage() {
  return null;
}
