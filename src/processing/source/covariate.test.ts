/** Files of covariate runs: strict, bounded, and the choice among runs [data-processing §4.8]. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sourceLimits } from '../limits.ts';
import { covariateFiles } from './covariate-file.ts';
import { CovariateRunError, parseCovariateRuns } from './covariate-run.ts';

const time = (index: number): string => new Date(Date.UTC(2026, 6, 11, 12) + index * 900_000).toISOString();
const run = (steps = 2) => ({
  issued_at: '2026-07-11T06:00:00Z',
  watermark: '2026-07-11T06:10:00Z',
  valid_times: Array.from({ length: steps }, (_, index) => time(index)),
  fields: {
    temperature: {
      unit: 'Cel',
      values: Array.from({ length: steps }, (): number | null => 20),
      quality: Array.from({ length: steps }, () => 'good'),
    },
  },
});
const text = (...runs: unknown[]): string => JSON.stringify({ schema: 'svc.covariate-runs.v1', runs });
const fault = (given: string): string => {
  try {
    parseCovariateRuns(given);
  } catch (error) {
    if (error instanceof CovariateRunError) return error.message;
    throw error;
  }
  return 'none';
};
const withField = (change: object) => {
  const one = run();
  return text({ ...one, fields: { temperature: { ...one.fields.temperature, ...change } } });
};

describe('[data-processing §4.8] Covariates: read and validated at each call', () => {
  test('values, qualities and times are preserved; null is missing', () => {
    const [read] = parseCovariateRuns(withField({ values: [null, 1], quality: ['missing', 'uncertain'] }));
    const cells = read?.fields.get('temperature')?.cells;
    expect([...(cells?.values ?? [])]).toEqual([Number.NaN, 1]);
    expect([...(cells?.marks ?? [])]).toEqual([0, 2]);
    expect(read?.positions.get(Date.parse(time(1)))).toBe(1);
  });

  test.each<[string, string, string]>([
    ['another schema', text().replace('v1', 'v2'), '/schema'],
    ['an unknown member', text({ ...run(), model: 'x' }), '/runs/0'],
    ['a missing member', text({ ...run(), watermark: undefined }), '/runs/0'],
    ['issued after its watermark', text({ ...run(), issued_at: '2026-07-11T06:10:00.001Z' }), '/runs/0/issued_at'],
    ['an invalid date', text({ ...run(), issued_at: '2026-02-30T00:00:00Z' }), '/runs/0/issued_at'],
    ['times that stand still', text({ ...run(), valid_times: [time(0), time(0)] }), '/runs/0/valid_times/1'],
    ['times that go back', text({ ...run(), valid_times: [time(1), time(0)] }), '/runs/0/valid_times/1'],
    ['a value too few', withField({ values: [1] }), '/runs/0/fields/temperature'],
    ['a quality too many', withField({ quality: ['good', 'good', 'good'] }), '/runs/0/fields/temperature'],
    ['null that is good', withField({ values: [null, 1] }), '/runs/0/fields/temperature/quality/0'],
    ['a value that is missing', withField({ quality: ['missing', 'good'] }), '/runs/0/fields/temperature/quality/0'],
    ['a text for a value', withField({ values: ['1', 2] }), '/runs/0/fields/temperature/values/0'],
    ['an overflow', withField({ values: [1, 7] }).replace(',7]', ',1e999]'), 'too large'],
    ['a duplicate member', '{"schema":"svc.covariate-runs.v1","runs":[],"runs":[]}', 'twice'],
    ['no JSON', '{', 'not valid JSON'],
  ])('%s makes the whole file unusable, and the place is named', (_name, given, place) => {
    expect(fault(given)).toContain(place);
  });

  test('run_times: that many are read, one more is refused', () => {
    expect(fault(text(run(sourceLimits.run_times)))).toBe('none');
    expect(fault(text(run(sourceLimits.run_times + 1)))).toContain('/runs/0');
  });

  test('runs: that many are read, one more is refused', () => {
    const many = Array.from({ length: sourceLimits.runs }, () => run(1));
    expect(fault(text(...many))).toBe('none');
    expect(fault(text(...many, run(1)))).toContain('/runs');
  });
});

describe('[data-processing §4.8] byte limit of a run file', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'setpoint-runs-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const never = new AbortController().signal;
  const read = (path: string, maxFileBytes: number) => covariateFiles.read({ dataset: 'd', path, maxFileBytes }, never);

  test('exactly max_file_bytes are read, one more is not', async () => {
    const path = join(folder, 'runs.json');
    writeFileSync(path, text(run()).padEnd(70_000));
    expect(await read(path, 70_000)).toHaveLength(1);
    await expect(read(path, 69_999)).rejects.toMatchObject({
      code: 'source-unavailable',
      details: { dataset: 'd', reason: 'the file is larger than 69999 bytes' },
    });
  });

  test('a folder, a device that never ends and bytes that are not text are refused at once', async () => {
    const path = join(folder, 'runs.json');
    writeFileSync(path, Buffer.from([0xff, 0xfe]));
    for (const file of [folder, '/dev/zero', path])
      await expect(read(file, 1000)).rejects.toMatchObject({ code: 'source-unavailable' });
  });
});
