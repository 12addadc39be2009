/** Seeds that once failed, each in its shortest form: one file each in `seeds/`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { decodeOrRefuse } from '../../src/base/decode.ts';
import { type Happening, happenings, runWorld, type WorldResult } from '../../src/testing/world/world.ts';

const folder = join(import.meta.dirname, 'seeds');
const seedForm = Type.Object({
  seed: Type.Integer(),
  /** Simulated: until just after the violation. */
  hours: Type.Number({ exclusiveMinimum: 0 }),
  /** Kinds of events that the failure does not need. */
  without: Type.Array(Type.Enum([...happenings])),
  violation: Type.String(),
});
export type Seed = Static<typeof seedForm>;
const decode = decodeOrRefuse(seedForm, 'seed file');

/** Short ones run with every test; the others, which repeat the world with another seed, run with the long tests. */
const shortHours = 0.1;

export function storedSeeds(which: 'short' | 'long'): Seed[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => decode(JSON.parse(readFileSync(join(folder, name), 'utf8'))))
    .filter(({ hours }) => hours <= shortHours === (which === 'short'));
}

/** Returns the file's name. */
export function storeSeed(seed: Seed): string {
  const file = join(folder, `${seed.seed}.json`);
  writeFileSync(file, `${JSON.stringify(seed, null, 2)}\n`);
  return file;
}

/** The failure at its shortest: as little time and as few events as still make it fail. */
export async function shortest(failed: WorldResult, now: () => number): Promise<Seed> {
  let [result, without]: [WorldResult, readonly Happening[]] = [failed, []];
  for (const happening of happenings) {
    const less = [...without, happening];
    // The run ends with its first violation: a form that fails sooner is shorter.
    const tried = await runWorld(failed.seed, hoursOf(result), now, { without: less });
    if (tried.violations.length > 0) [result, without] = [tried, less];
  }
  return {
    seed: failed.seed,
    hours: hoursOf(result),
    without: [...without],
    violation: result.violations[0] ?? '',
  };
}

/** Rounded up to a second, so that the moment itself is included. */
function hoursOf({ simulatedMs }: WorldResult): number {
  return (Math.floor(simulatedMs / 1000) + 1) / 3600;
}
