/** The pages of the navigation, in order, and the search parameters of page addresses. */

/** The name of a page in the catalogues, and its path. */
export const mainPages = [
  ['site', '/'],
  ['points', '/points'],
  ['devices', '/devices'],
  ['alarms', '/alarms'],
  ['rules', '/rules'],
  ['forecasts', '/forecasts'],
  // For roles that may read it.
  ['audit', '/audit'],
] as const;

/** Filters of the lists of points and rules. */
export const pointFilters = ['all', 'action', 'trouble'] as const;
export type PointsShown = (typeof pointFilters)[number];
export const ruleFilters = ['all', 'on', 'off', 'trouble'] as const;
export type RulesShown = (typeof ruleFilters)[number];

/** Ranges of a trend, up to now. */
export const trendRanges = ['hour', 'day', 'week', 'month', 'year'] as const;
export type TrendRange = (typeof trendRanges)[number];

/** The panels beside the flow of a rule. */
export const panels = ['node', 'rule', 'try', 'history'] as const;
export type PanelName = (typeof panels)[number];

/** The parts of a rule's evidence page. */
export const evidenceParts = ['tests', 'backtest', 'shadow'] as const;
export type EvidencePart = (typeof evidenceParts)[number];

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
