/** A site of `count` measurements and as many action points, an engine worker on it, and rules for it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngineClient, type EngineClient } from '../src/automation/engine-client.ts';
import type { EngineRule } from '../src/automation/engine-contract.ts';
import { automationLimits } from '../src/automation/limits.ts';
import { startEngineWorker } from '../src/automation/start-engine.ts';
import { systemClock } from '../src/base/clock.ts';
import { silentLog } from '../src/base/log.ts';
import { beginGeneration, createPointMemory, type PointMemory } from '../src/points/shared-memory.ts';
import { readSite, type Site } from '../src/points/site.ts';

export interface BenchEngine {
  readonly site: Site;
  readonly memory: PointMemory;
  readonly client: EngineClient;
  close(): Promise<void>;
}

/** Points 0 .. count-1 are measurements 1 .. count, points count .. 2*count-1 the actions of the same numbers. */
function benchSite(count: number): Site {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const point = (kind: string) => (id: number) =>
    `      - { id: ${id}, name: p${id}, kind: ${kind}, unit: kW, channel: derived }`;
  const text = [
    'schema: svc.site.v1',
    'site: { id: bench, name: Bench, timezone: UTC }',
    'channels: [{ id: derived, driver: virtual }]',
    'instances:',
    '  - id: 1',
    '    name: bench',
    '    points:',
    ...numbers.map(point('measurement')),
    ...numbers.map(point('action')),
  ].join('\n');
  return readSite(text, 'bench.yaml');
}

/** Reads measurement `id`; writes it to action `id` when `when` holds. */
export function benchRule(id: number, pointNumber: number, when: string, trigger: unknown): EngineRule {
  const nodes = {
    s: { type: 'start', wires: { default: ['i'] } },
    i: {
      type: 'input',
      variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: pointNumber }],
      parameters: [],
      wires: { default: ['d'] },
    },
    d: { type: 'switch', branches: [{ name: 'yes', when }], wires: { yes: ['a'], else: ['e'] } },
    a: {
      type: 'change',
      writes: [{ instance: 1, point_type: 'action', point: pointNumber, value: 'x' }],
      wires: { default: ['e'] },
    },
    e: { type: 'end', wires: {} },
  };
  return {
    id,
    revision: 1,
    enabled: true,
    priority: 0,
    cooldown_ms: 0,
    trigger_config: JSON.stringify(trigger),
    nodes_json: JSON.stringify({ start_node: 's', nodes }),
  };
}

export async function startBenchEngine(points: number, rules: readonly EngineRule[]): Promise<BenchEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-engine-'));
  const site = benchSite(points);
  const memory = createPointMemory(site.points, site.channels.length);
  beginGeneration(memory);
  memory.online[0] = 1;
  const limits = { ...automationLimits, engine_call_timeout_ms: 60_000 };
  const setup = { site, memory, databaseFile: join(folder, 'runtime.sqlite'), dataFolder: folder, limits };
  const client = createEngineClient({
    start: () => startEngineWorker(setup, 'warn'),
    rules: {
      heads: () => Promise.resolve(rules.map(({ id, revision }) => ({ id, revision }))),
      engineRules: () => Promise.resolve([...rules]),
    },
    parameters: {},
    clock: systemClock,
    log: silentLog,
    limits,
    onExecutions: () => undefined,
    onStart: () => undefined,
  });
  await client.open();
  return {
    site,
    memory,
    client,
    async close() {
      await client.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The value below which the share `part` of the sorted samples lies. */
export function quantile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}
