/** To come. */
export function RulePage() {
  return null;
}
