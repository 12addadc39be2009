/** To come. */
export function AuditPage() {
  return null;
}
