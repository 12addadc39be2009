/**
 * `npm run world`: the deterministic world from the command line.
 *   --seed N --hours H   runs one seed and prints the digest of its trace; with --twice it runs it twice and compares
 *   --trace SECONDS      prints the trace from that moment on
 *   --search MINUTES     tries seeds, prints each that fails, and stores its shortest form in `seeds/`; with --first it ends with
 *                        the first one, and stores nothing
 */
import { parseArgs } from 'node:util';
import { runWorld, type TraceListener, type WorldResult } from '../../src/testing/world/world.ts';
import { shortest, storeSeed } from './seeds.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    hours: { type: 'string', default: '1' },
    twice: { type: 'boolean', default: false },
    search: { type: 'string' },
    trace: { type: 'string' },
    first: { type: 'boolean', default: false },
    from: { type: 'string', default: '1' },
  },
});
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const now = (): number => performance.now();

function shown({
  seed,
  simulatedMs,
  realMs,
  faults,
  kills,
  executions,
  calls,
  violations,
  digest,
}: WorldResult): string {
  const days = simulatedMs / 86_400_000;
  return [
    `seed ${seed}: ${(simulatedMs / 3_600_000).toFixed(2)} h simulated in ${(realMs / 1000).toFixed(1)} s (${(simulatedMs / realMs).toFixed(0)} times)`,
    `  ${faults} faults (${(faults / days).toFixed(0)} a simulated day), ${kills} kills, ${executions} executions, ${calls} calls`,
    `  digest ${digest}`,
    ...violations.map((violation) => `  VIOLATION ${violation}`),
  ].join('\n');
}

// An unhandled rejection means that a thread has ended.
process.on('unhandledRejection', (error) => {
  print(
    `  VIOLATION an error that nobody caught: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
  );
  process.exit(1);
});

async function search(minutes: number, hours: number, from: number): Promise<void> {
  const until = now() + minutes * 60_000;
  let [seed, simulatedMs, realMs, failed] = [from, 0, 0, 0];
  for (; now() < until; seed++) {
    const result = await runWorld(seed, hours, now);
    simulatedMs += result.simulatedMs;
    realMs += result.realMs;
    if (result.violations.length === 0) continue;
    failed++;
    print(shown(result));
    if (values.first) break;
    print(`  stored: ${storeSeed(await shortest(result, now))}`);
  }
  print(
    `${seed - from} seeds tried, ${failed} failed, simulated time over real time ${(simulatedMs / realMs).toFixed(0)}`,
  );
  if (failed > 0) process.exitCode = 1;
}

if (values.search !== undefined) await search(Number(values.search), Number(values.hours), Number(values.from));
else {
  const from = values.trace === undefined ? Number.POSITIVE_INFINITY : Number(values.trace) * 1000;
  const listen: TraceListener = (atMs, kind, what) => {
    if (atMs >= from) print(`${(atMs / 1000).toFixed(3)} ${kind} ${what}`);
  };
  const first = await runWorld(Number(values.seed ?? 1), Number(values.hours), now, { listen });
  print(shown(first));
  if (first.violations.length > 0) process.exitCode = 1;
  if (values.twice) {
    const second = await runWorld(first.seed, Number(values.hours), now);
    const isSame = first.digest === second.digest;
    print(isSame ? 'the second run has the same trace' : `the second run differs: ${second.digest}`);
    if (!isSame) process.exitCode = 1;
  }
}
