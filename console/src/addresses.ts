/** What stands in the addresses of pages beside their paths. */

/** The panels beside the flow of a rule. */
export const panels = ['node', 'rule', 'try', 'history'] as const;
export type PanelName = (typeof panels)[number];

export const auditFilterNames = [
  'action',
  'resourceKind',
  'resourceId',
  'subjectId',
  'from',
  'to',
  'correlation',
  'event',
] as const;
export type AuditFilterName = (typeof auditFilterNames)[number];
export type AuditSearch = { readonly [N in AuditFilterName]?: string };
