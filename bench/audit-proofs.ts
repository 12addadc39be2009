/**
 * The cost of the tree beside the audit log [audit §9]: proofs out of a long log (limits 5 ms and 3 KB), the consistency of two heads
 * (5 ms), opening the log again (nothing is read through), and appends with the tree kept up against appends with checkpoints but
 * without a tree (at least 0.9).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuditLog } from '../src/audit/log.ts';
import { systemClock } from '../src/base/clock.ts';
import { signerOf } from './fixture/audit-signer.ts';
import { appendTogether, type BenchLog, benchScope, emptyLog, fillLog, median } from './fixture/audit-site.ts';
import { limitMissed, sizes } from './fixture/sizes.ts';

const { events, asked, openings, rounds, appended } = sizes(
  { events: 1_000_000, asked: 200, openings: 9, rounds: 9, appended: 20_000 },
  { events: 3000, asked: 5, openings: 1, rounds: 1, appended: 2048 },
);
const limits = { proofMs: 5, proofBytes: 3072, appendShare: 0.9 };
const owner = { log: 'events', ...benchScope } as const;
const folder = mkdtempSync(join(tmpdir(), 'setpoint-bench-proofs-'));

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const begunMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - begunMs;
}

function shown(name: string, ms: readonly number[], limitMs: number): void {
  const sorted = ms.toSorted((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  console.log(`  ${name} p50 ${median(ms).toFixed(2)} ms, p99 ${p99.toFixed(2)} ms (limit ${limitMs})`);
}

async function proofs(): Promise<void> {
  const log = emptyLog();
  await fillLog(log, events);
  const first = signerOf(log, join(folder, 'proofs.jsonl'));
  const grownMs = await msOf(() => first.checkpointer.cover(owner));
  console.log(`${events} events; their tree and first checkpoint took ${(grownMs / 1000).toFixed(1)} s, in turns`);
  const times: number[] = [];
  let bytes = 0;
  for (let at = 0; at < asked; at++) {
    const sequence = 1 + Math.floor((at / asked) * events);
    times.push(
      await msOf(async () => {
        bytes = Math.max(bytes, (await first.proofs.inclusion(benchScope, sequence)).length);
      }),
    );
  }
  shown('proof of an event', times, limits.proofMs);
  console.log(`  at most ${bytes} bytes (limit ${limits.proofBytes})`);
  const consistent: number[] = [];
  for (let at = 1; at <= asked; at++) {
    const from = Math.max(1, Math.floor((at / (asked + 1)) * events));
    consistent.push(await msOf(() => first.proofs.consistency(benchScope, 'events', from, null)));
  }
  shown('consistency of two heads', consistent, limits.proofMs);
  await first.checkpointer.close();
  await openedAgain(log);
  await log.close();
}

/** In turns, because the first call also loads code. */
async function openedAgain(log: BenchLog): Promise<void> {
  const took = { trees: [] as number[], 'no trees': [] as number[] };
  for (let round = 0; round < openings; round++)
    for (const keeps of ['no trees', 'trees'] as const) {
      const { checkpointer } = signerOf(log, join(folder, 'proofs.jsonl'), keeps);
      const ms = await msOf(async () => {
        checkpointer.open();
        await checkpointer.cover(owner);
      });
      took[keeps].push(ms);
      await checkpointer.close();
    }
  const [withTree, without] = [median(took.trees), median(took['no trees'])];
  console.log(
    `  opened again, nothing new to sign: ${withTree.toFixed(1)} ms, as if there were no tree ${without.toFixed(1)} ms`,
  );
}

async function appends(): Promise<void> {
  const took = { alone: [] as number[], 'no trees': [] as number[], trees: [] as number[] };
  for (let round = 0; round < rounds; round++)
    for (const kind of ['alone', 'no trees', 'trees'] as const) {
      const log = emptyLog();
      const keeps = kind === 'trees' ? 'trees' : 'no trees';
      const { checkpointer } = signerOf(log, join(folder, `${kind}-${round}.jsonl`), keeps);
      const onAppended = (count: number): void => {
        if (kind !== 'alone') checkpointer.appended(count);
      };
      const audit = createAuditLog({ ...log, clock: systemClock, scope: benchScope, onAppended });
      took[kind].push(await msOf(() => appendTogether([audit], 256, appended)));
      await checkpointer.close();
      await log.close();
    }
  // Round by round: the speed of the disk changes within minutes.
  const shareOf = (kind: 'alone' | 'no trees'): number =>
    median(took.trees.map((ms, round) => (took[kind][round] ?? Number.NaN) / ms));
  const [share, ofAlone] = [shareOf('no trees'), shareOf('alone')];
  console.log(
    `appends with checkpoints and tree: ${share.toFixed(2)} of those with checkpoints alone (limit ${limits.appendShare}), ${ofAlone.toFixed(2)} of those without any`,
  );
  if (share < limits.appendShare) limitMissed();
}

try {
  await proofs();
  await appends();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
