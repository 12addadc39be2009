/**
 * The pages and their addresses. They stand in the fragment: the service answers `/` and knows no other page, and what
 * is unknown to it stays a 404. Each page is fetched when it is first opened.
 */
import { createHashHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import {
  type AuditSearch,
  auditFilterNames,
  type EvidencePart,
  evidenceParts,
  type PanelName,
  type PointsShown,
  panels,
  pointFilters,
  type RulesShown,
  ruleFilters,
} from './addresses.ts';
import { later } from './parts/later.tsx';
import { NotFound, PageFailure } from './shell/page-failure.tsx';
import { Shell } from './shell/shell.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: PageFailure });

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
/** Search values are parsed as JSON: what looks like a number comes as one. */
const word = (value: unknown): string | undefined => (typeof value === 'number' ? String(value) : text(value));

const siteRoute = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: later(async () => (await import('./site/site-page.tsx')).SitePage),
});

const pointsRoute = createRoute({
  getParentRoute: () => root,
  path: '/points',
  component: later(async () => (await import('./points/points-page.tsx')).PointsPage),
  validateSearch: (search: Readonly<Record<string, unknown>>): { filter?: PointsShown } => {
    const filter = pointFilters.find((name) => name === search['filter']);
    return filter === undefined ? {} : { filter };
  },
});

const pointRoute = createRoute({
  getParentRoute: () => root,
  path: '/points/$pointKey',
  component: later(async () => (await import('./points/point-page.tsx')).PointPage),
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
  validateSearch: (search: Readonly<Record<string, unknown>>): { create?: boolean; filter?: RulesShown } => {
    const filter = ruleFilters.find((name) => name === search['filter']);
    return { ...(search['create'] === true ? { create: true } : {}), ...(filter === undefined ? {} : { filter }) };
  },
});

const ruleRoute = createRoute({
  getParentRoute: () => root,
  path: '/rules/$ruleId',
  component: later(async () => (await import('./editor/rule-page.tsx')).RulePage),
  validateSearch: (search: Readonly<Record<string, unknown>>): { panel?: PanelName; run?: string; node?: string } => {
    const panel = panels.find((name) => name === search['panel']);
    const [run, node] = [text(search['run']), text(search['node'])];
    return {
      ...(panel === undefined ? {} : { panel }),
      ...(run === undefined ? {} : { run }),
      ...(node === undefined ? {} : { node }),
    };
  },
});

const revisionsRoute = createRoute({
  getParentRoute: () => root,
  path: '/rules/$ruleId/revisions',
  component: later(async () => (await import('./revisions/revisions-page.tsx')).RevisionsPage),
  validateSearch: (search: Readonly<Record<string, unknown>>): { revision?: number } =>
    typeof search['revision'] === 'number' ? { revision: search['revision'] } : {},
});

const evidenceRoute = createRoute({
  getParentRoute: () => root,
  path: '/rules/$ruleId/evidence',
  component: later(async () => (await import('./evidence/evidence-page.tsx')).EvidencePage),
  validateSearch: (search: Readonly<Record<string, unknown>>): { part?: EvidencePart; run?: string } => {
    const part = evidenceParts.find((name) => name === search['part']);
    const run = text(search['run']);
    return { ...(part === undefined ? {} : { part }), ...(run === undefined ? {} : { run }) };
  },
});

const auditRoute = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  component: later(async () => (await import('./audit/audit-page.tsx')).AuditPage),
  validateSearch: (search: Readonly<Record<string, unknown>>): AuditSearch =>
    Object.fromEntries(
      auditFilterNames.flatMap((name) => {
        const value = word(search[name]);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
});

const forecastsRoute = createRoute({
  getParentRoute: () => root,
  path: '/forecasts',
  component: later(async () => (await import('./forecasts/forecasts-page.tsx')).ForecastsPage),
  validateSearch: (search: Readonly<Record<string, unknown>>): { task?: string } => {
    const task = word(search['task']);
    return task === undefined ? {} : { task };
  },
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
