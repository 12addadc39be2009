/**
 * The pages and their addresses, in the fragment: the service serves only `/`, and unknown
 * paths are 404. Each page is loaded when it is first opened.
 */
import { createHashHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import {
  type AuditSearch,
  auditFilterNames,
  evidenceParts,
  panels,
  pointFilters,
  ruleFilters,
  trendRanges,
} from './addresses.ts';
import { later } from './parts/later.tsx';
import { NotFound, PageFailure } from './shell/page-failure.tsx';
import { Shell } from './shell/shell.tsx';

type Search = Readonly<Record<string, unknown>>;

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: PageFailure });

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const whole = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
/** Search values are parsed as JSON: a text that looks like a number arrives as a number. */
const word = (value: unknown): string | undefined => (typeof value === 'number' ? String(value) : text(value));

/**
 * The checked search parameters of an address. An invalid one is returned as undefined, not left out: the router merges this result over
 * the address, so an absent one would keep its invalid value.
 */
function checked<T extends object>(members: T): { [N in keyof T]?: NonNullable<T[N]> } {
  return members;
}

const siteRoute = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: later(async () => (await import('./site/site-page.tsx')).SitePage),
});

const pointsRoute = createRoute({
  getParentRoute: () => root,
  path: '/points',
  component: later(async () => (await import('./points/points-page.tsx')).PointsPage),
  validateSearch: (search: Search) => checked({ filter: pointFilters.find((name) => name === search['filter']) }),
});

const pointRoute = createRoute({
  getParentRoute: () => root,
  path: '/points/$pointKey',
  component: later(async () => (await import('./points/point-page.tsx')).PointPage),
  validateSearch: (search: Search) =>
    checked({
      range: trendRanges.find((name) => name === search['range']),
      from: whole(search['from']),
      to: whole(search['to']),
      with: text(search['with']),
    }),
});

const devicesRoute = createRoute({
  getParentRoute: () => root,
  path: '/devices',
  component: later(async () => (await import('./devices/devices-page.tsx')).DevicesPage),
});

const alarmsRoute = createRoute({
  getParentRoute: () => root,
  path: '/alarms',
  component: later(async () => (await import('./alarms/alarms-page.tsx')).AlarmsPage),
});

const usersRoute = createRoute({
  getParentRoute: () => root,
  path: '/users',
  component: later(async () => (await import('./users/users-page.tsx')).UsersPage),
});

const rulesRoute = createRoute({
  getParentRoute: () => root,
  path: '/rules',
  component: later(async () => (await import('./rules/rules-page.tsx')).RulesPage),
  validateSearch: (search: Search) =>
    checked({
      create: search['create'] === true || undefined,
      filter: ruleFilters.find((name) => name === search['filter']),
    }),
});

const ruleRoute = createRoute({
  getParentRoute: () => root,
  path: '/rules/$ruleId',
  component: later(async () => (await import('./editor/rule-page.tsx')).RulePage),
  validateSearch: (search: Search) =>
    checked({
      panel: panels.find((name) => name === search['panel']),
      run: text(search['run']),
      node: text(search['node']),
    }),
});

const revisionsRoute = createRoute({
  getParentRoute: () => root,
  path: '/rules/$ruleId/revisions',
  component: later(async () => (await import('./revisions/revisions-page.tsx')).RevisionsPage),
  validateSearch: ({ revision }: Search) => checked({ revision: typeof revision === 'number' ? revision : undefined }),
});

const evidenceRoute = createRoute({
  getParentRoute: () => root,
  path: '/rules/$ruleId/evidence',
  component: later(async () => (await import('./evidence/evidence-page.tsx')).EvidencePage),
  validateSearch: (search: Search) =>
    checked({ part: evidenceParts.find((name) => name === search['part']), run: text(search['run']) }),
});

const auditRoute = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: later(async () => (await import('./audit/audit-page.tsx')).AuditPage),
  validateSearch: (search: Search): AuditSearch =>
    checked(Object.fromEntries(auditFilterNames.map((name) => [name, word(search[name])]))),
});

const forecastsRoute = createRoute({
  getParentRoute: () => root,
  path: '/forecasts',
  component: later(async () => (await import('./forecasts/forecasts-page.tsx')).ForecastsPage),
  validateSearch: (search: Search) => checked({ task: word(search['task']) }),
});

const routeTree = root.addChildren([
  siteRoute,
  pointsRoute,
  pointRoute,
  devicesRoute,
  alarmsRoute,
  usersRoute,
  rulesRoute,
  ruleRoute,
  revisionsRoute,
  evidenceRoute,
  auditRoute,
  forecastsRoute,
]);

export const router = createRouter({
  routeTree,
  history: createHashHistory(),
  defaultErrorComponent: PageFailure,
  defaultPreload: 'intent',
  defaultPendingMinMs: 0,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
