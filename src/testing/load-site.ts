/**
 * The load fixture of the contract as a running site: declarations, binding and routes commissioned against its
 * site.yaml, and its frames from a real historian. Tests edit the texts before they are read.
 */
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { ForecastOptions } from '../api/processing.ts';
import { createLog } from '../base/log.ts';
import { readTask } from '../contract/task/read.ts';
import type { HistoryRow } from '../historian/historian.ts';
import { readBinding } from '../processing/commission/binding.ts';
import { type Commissioning, commission } from '../processing/commission/commission.ts';
import type { CommissionedRoute } from '../processing/commission/commissioned.ts';
import { readRoutes } from '../processing/commission/routes.ts';
import { type Assembly, assembleFrame } from '../processing/frame/assemble.ts';
import { planFrame } from '../processing/frame/plan.ts';
import { covariateFiles } from '../processing/source/covariate-file.ts';
import { embeddedHistory } from '../processing/source/embedded-history.ts';
import { type LiveState, noLiveState } from '../processing/source/live-state.ts';
import { quality } from '../site/quality.ts';
import { readSite } from '../site/site.ts';
import type { TestHistory } from './histories.ts';

const folder = new URL('../processing/commission/fixture/', import.meta.url);
export const fixtureFile = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
export const fixturePath = (name: string): string => new URL(name, folder).pathname;

/** `[old text, new text]`; a missing old text fails the test. */
export type Edit = readonly [string, string];

export interface LoadEdits {
  readonly task?: readonly Edit[];
  readonly binding?: readonly Edit[];
  readonly routes?: readonly Edit[];
  readonly site?: readonly Edit[];
}

export function editedText(text: string, edits: readonly Edit[] = []): string {
  return edits.reduce((before, [from, to]) => {
    if (!before.includes(from)) throw new Error(`the fixture has no ${from}`);
    return before.replaceAll(from, to);
  }, text);
}

export function commissionLoad(edits: LoadEdits = {}): Commissioning {
  const taskName = 'tasks/site-load-forecast.yaml';
  const bindingName = 'bindings/example-site.yaml';
  const task = readTask(editedText(fixtureFile(`load/${taskName}`), edits.task), taskName);
  const binding = readBinding(editedText(fixtureFile(`load/${bindingName}`), edits.binding), bindingName);
  const routes = readRoutes(editedText(fixtureFile('load/routes.yaml'), edits.routes), 'routes.yaml');
  const site = readSite(editedText(fixtureFile('load-site.yaml'), edits.site), 'site.yaml');
  const path = fixturePath(`load/${bindingName}`);
  return commission({ tasks: [task], bindings: [{ ...binding, path, dataDir: tmpdir() }], routes }, site);
}

/** The errors of a commissioning that must fail. */
export function commissionFaults(edits: LoadEdits): readonly string[] {
  const commissioned = commissionLoad(edits);
  if (commissioned.ok) throw new Error('the commissioning should have failed');
  return commissioned.lines;
}

export function loadRoute(edits: LoadEdits = {}): CommissionedRoute {
  const commissioned = commissionLoad(edits);
  if (!commissioned.ok) throw new Error(commissioned.lines.join('\n'));
  const [route] = commissioned.routes;
  if (route === undefined) throw new Error('the route is not there');
  return route;
}

/** Series of the fixture's site. */
export const loadSeries = { instance: 2, point: 1 } as const;
export const temperatureSeries = { instance: 6, point: 1 } as const;
export const humiditySeries = { instance: 6, point: 2 } as const;
export const rainSeries = { instance: 6, point: 3 } as const;

/** A moment of the fixture's day. */
export const atPlace = (time: string): number => Date.parse(`2026-07-11T${time}Z`);

export function row(
  series: HistoryRow['series'],
  time: string,
  value: number | null,
  more: Partial<HistoryRow> = {},
): HistoryRow {
  const eventMs = atPlace(time);
  return {
    series,
    eventMs,
    ingestedMs: eventMs,
    value,
    quality: value === null ? quality.missing : quality.good,
    ...more,
  };
}

/** The raw values that produce the fixture's frame: one per label, at the label itself. */
export function fixtureRows(): HistoryRow[] {
  const times = ['11:15:00', '11:30:00', '11:45:00', '12:00:00'];
  const values: [HistoryRow['series'], number[]][] = [
    [loadSeries, [818, 820, 835, 840]],
    [temperatureSeries, [30.9, 31, 31.2, 31.4]],
    [humiditySeries, [65, 64, 63, 62]],
    [rainSeries, [0, 0, 0, 0]],
  ];
  return values.flatMap(([series, cells]) => times.map((time, index) => row(series, time, cells[index] ?? null)));
}

export interface AssembleChanges {
  readonly asOfMs?: number;
  readonly nowMs?: number;
  readonly options?: Partial<ForecastOptions>;
  readonly live?: LiveState;
  readonly signal?: AbortSignal;
}

/** The frame of the fixture's route, assembled from `history`. */
export function assembleLoad(
  { historian }: Pick<TestHistory, 'historian'>,
  route: CommissionedRoute,
  changes: AssembleChanges = {},
): Promise<Assembly> {
  return assembleFrame({
    plan: planFrame(
      route,
      changes.asOfMs ?? atPlace('12:00:00'),
      { kind: 'forecast', horizon_steps: 2, ...changes.options },
      changes.nowMs ?? atPlace('12:00:01'),
    ),
    sources: {
      history: embeddedHistory(historian),
      covariates: covariateFiles,
      live: changes.live ?? noLiveState,
    },
    signal: changes.signal ?? new AbortController().signal,
    log: createLog('silent', {}),
  });
}
