/** Which parameter values are in force when several are changed at once [points §9]. */
import { expect, test } from 'vitest';
import type { Parameter } from '../site/catalogue.ts';
import { tankSite } from '../testing/tank-site.ts';
import { overlaid, parametersInForce } from './parameters-in-force.ts';

const limit: Parameter = { value: 50, unit: 'kW', min: 0, max: 100 };
const free: Parameter = { value: 1, unit: undefined };
const inFile = { limit, free };

function setup() {
  const stored = new Map<string, number>();
  return { stored, parameters: parametersInForce(() => tankSite, inFile, { all: async () => new Map(stored) }) };
}

test('a stored value is ignored without its parameter, outside a new range, or if equal to the value of the file', () => {
  const stored = new Map([
    ['gone', 1],
    ['limit', 101],
    ['free', 1],
  ]);
  expect(overlaid(inFile, stored)).toEqual(inFile);
});

test('a stored value outside of a new range is named; one that is gone, or in force, is not', async () => {
  const { stored, parameters } = setup();
  stored.set('limit', 100).set('free', 7).set('gone', 1);
  await parameters.renew(async () => undefined);
  expect(await parameters.ignored()).toEqual([]);
  expect(await parameters.ignored({ ...inFile, limit: { ...limit, max: 99 } })).toEqual([
    'parameter limit was changed to 100, which its range in site.yaml excludes: 50 of the file is in force',
  ]);
});

test('stored values override those of the last applied file', async () => {
  const { stored, parameters } = setup();
  stored.set('limit', 80);
  const { before, after, taken } = await parameters.renew(async (now) => now['limit']?.value);
  expect([before, after, taken]).toEqual([inFile, { limit: { ...limit, value: 80, fileValue: 50 }, free }, 80]);
  expect(parameters.catalogue().parameter('limit')?.value).toBe(80);
  const edited = { limit: { ...limit, value: 60 }, free };
  await parameters.renew(
    async () => undefined,
    () => edited,
  );
  expect(parameters.current()).toEqual({ limit: { ...limit, value: 80, fileValue: 60 }, free });
  stored.clear();
  await parameters.renew(async () => undefined);
  expect(parameters.current()).toEqual(edited);
});

test('rejected values are not in force; equal ones do not change the catalogue', async () => {
  const { stored, parameters } = setup();
  const catalogue = parameters.catalogue();
  await parameters.renew(async () => undefined);
  expect(parameters.catalogue()).toBe(catalogue);
  stored.set('limit', 80);
  await expect(parameters.renew(() => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(parameters.current()).toEqual(inFile);
  await parameters.renew(async () => undefined);
  expect(parameters.current()['limit']?.value).toBe(80);
});

test('of two changes at once the last one finds both', async () => {
  const { stored, parameters } = setup();
  const taken: unknown[] = [];
  const change = (name: string, value: number) =>
    parameters.renew(
      async (now) => void taken.push([now['limit']?.value, now['free']?.value]),
      async () => {
        await Promise.resolve();
        stored.set(name, value);
        return parameters.current();
      },
    );
  await Promise.all([change('limit', 80), change('free', 2)]);
  expect(taken).toEqual([
    [80, 1],
    [80, 2],
  ]);
});

test('a file that a takeover reads out of turn counts', async () => {
  const { parameters } = setup();
  const edited = { limit: { ...limit, value: 60 }, free };
  await parameters.renew(
    async () => parameters.use(edited),
    () => ({ limit: { ...limit, value: 55 }, free }),
  );
  expect(parameters.current()).toBe(edited);
});
