/** The automation worker as a real thread: it is killed, comes back, and has its state again (ARCHITECTURE.md, "Threads"). */
import { expect, test } from 'vitest';
import { createEngineClient, type EngineThread } from '../../src/automation/engine-client.ts';
import { automationLimits } from '../../src/automation/limits.ts';
import { startEngineWorker } from '../../src/automation/start-engine.ts';
import { openRuntimeDatabase } from '../../src/automation/store/runtime-database.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { beginGeneration, createPointMemory } from '../../src/points/shared-memory.ts';
import type { ExecutionRecord } from '../../src/rules/record.ts';
import { readSite } from '../../src/site/site.ts';
import { retentionCell } from '../../src/storage/retention-clock.ts';
import { engines, testPlaces } from '../../src/testing/engines.ts';
import { virtualSite, waitFor } from './running-service.ts';

const nodes = {
  s: { type: 'start', wires: { default: ['a'] } },
  a: { type: 'change', writes: [{ instance: 1, point_type: 'action', point: 1, value: 7 }], wires: { default: ['e'] } },
  e: { type: 'end', wires: {} },
};
const rule = {
  id: 1,
  revision: 1,
  enabled: true,
  mode: 'live' as const,
  priority: 0,
  cooldown_ms: 600_000,
  trigger_config: null,
  nodes_json: JSON.stringify({ start_node: 's', nodes }),
};

test.each(engines)(
  'a killed engine thread is started again: rules, cooldown and watched rules as before, on %s',
  async (engine) => {
    const places = await testPlaces(engine);
    const prepared = openRuntimeDatabase(places.runtime);
    await prepared.ready();
    await prepared.close();
    const site = readSite(virtualSite, 'site.yaml');
    const memory = createPointMemory(site.points, site.channels.length);
    beginGeneration(memory);
    memory.online[0] = 1;
    const threads: EngineThread[] = [];
    const records: ExecutionRecord[] = [];
    const client = createEngineClient({
      start() {
        const thread = startEngineWorker(
          {
            site,
            memory,
            database: places.runtime,
            dataFolder: places.folder,
            retention: retentionCell(0),
            limits: automationLimits,
          },
          'silent',
        );
        threads.push(thread);
        return thread;
      },
      rules: {
        heads: () => Promise.resolve([{ id: 1, revision: 1, enabled: true, priority: 0 }]),
        engineRules: (ids) => Promise.resolve(ids.length === 0 ? [] : [rule]),
      },
      parameters: site.parameters,
      clock: systemClock,
      log: silentLog,
      limits: automationLimits,
      onExecutions: (made) => void records.push(...made),
      onGrantsEnded: () => undefined,
      onStart: () => client.watch([1]),
    });
    try {
      expect(await client.open()).toEqual({ rules_loaded: 1, rules_failed: [] });
      // The rule has run, and its run is stored.
      const last = await waitFor(async () => (await client.ask('explain', { ruleIds: [1] }))[0]?.last_run ?? undefined);
      await client.execute(1, 'correlation-1');
      await threads[0]?.terminate();
      await waitFor(() => threads.length === 2 || undefined);
      const status = await waitFor(
        async () => (await client.ask('explain', { ruleIds: [1] }).catch(() => []))[0] ?? undefined,
      );
      expect(status).toMatchObject({ state: 'cooldown', enabled: true, runnable: true });
      expect(status.last_run?.execution_id).not.toBe(last.execution_id);
      records.length = 0;
      const record = await client.execute(1, 'correlation-2');
      await waitFor(() => records.length === 1 || undefined);
      expect(records).toEqual([record]);
      expect(client.restarts()).toBe(1);
    } finally {
      await client.close();
      await places.remove();
    }
  },
);
