/** The scheduler keeps its tick while the main thread is busy with HTTP (ARCHITECTURE.md, "Threads"; [rules §2.7] status). */
import { expect, test } from 'vitest';
import { editorFlow, feedFlow, startTestService, testFolders, virtualSite } from './running-service.ts';

interface Counters {
  readonly ticks: number;
  readonly late_ticks: number;
  readonly overruns: number;
  readonly max_lateness_ms: number;
}

/** A flow of nearly 1 MiB: the editor's own fields are stored but have no meaning. */
function bigFlow(): Record<string, unknown> {
  const flow = editorFlow();
  return { ...flow, metadata: { notes: Array.from({ length: 1000 }, (_, index) => `${index} ${'x'.repeat(1000)}`) } };
}

test('[rules §6.1] the tick is on time while 1 MiB flows are stored and the list is under load; late ticks are counted', async () => {
  const service = await startTestService(testFolders(virtualSite));
  try {
    const counters = async (): Promise<Counters> =>
      (await service.read('/scheduler/status')).body['data'] as unknown as Counters;
    const id = Number((await service.command('POST', '/rules', { name: 'big' })).body['data']?.['id']);
    const ticking = Number((await service.command('POST', '/rules', { name: 'ticking' })).body['data']?.['id']);
    const trigger = { type: 'interval', interval_ms: 100 };
    await service.command('PUT', `/rules/${ticking}`, { flow_json: feedFlow(), trigger_config: trigger });
    await service.command('POST', `/rules/${ticking}/enable`);

    const flow = bigFlow();
    expect(JSON.stringify(flow).length).toBeGreaterThan(1_000_000);
    const before = await counters();
    const begunMs = performance.now();
    let lists = 0;
    let puts = 0;
    const until = begunMs + 3000;
    const listing = async (): Promise<void> => {
      while (performance.now() < until) {
        expect((await service.read('/rules?include=status&page_size=100')).status).toBe(200);
        lists++;
      }
    };
    const storing = async (): Promise<void> => {
      while (performance.now() < until) {
        const stored = await service.command('PUT', `/rules/${id}`, { flow_json: flow });
        expect(stored.status, stored.text).toBe(200);
        puts++;
      }
    };
    await Promise.all([storing(), listing(), listing(), listing(), listing()]);
    const after = await counters();
    const expected = (performance.now() - begunMs) / 100;
    const ticks = after.ticks - before.ticks;
    const overruns = after.overruns - before.overruns;
    expect([puts > 2, lists > 20]).toEqual([true, true]);
    expect(after.late_ticks).toBeGreaterThanOrEqual(before.late_ticks);
    // Ticks run or count as missed, none is lost silently; and most run.
    expect(Math.abs(ticks + overruns - expected)).toBeLessThan(3);
    expect(ticks).toBeGreaterThan(expected * 0.9);
    const runs = (await service.read(`/rules/${ticking}/history?limit=100`)).body['data']?.[
      'list'
    ] as unknown as unknown[];
    expect(runs.length).toBeGreaterThan(expected * 0.8);
  } finally {
    await service.stop();
    service.folders.remove();
  }
});
