/** The configuration folder as a whole: the examples are read, errors have file and line, a revision means one content. */
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readSite } from '../../site/site.ts';
import { type Edit, editedText, fixtureFile, fixturePath } from '../../testing/load-site.ts';
import { configurationLimits } from '../limits.ts';
import { readConfiguration, readTasks } from './configuration.ts';
import { keptDigestsFile } from './kept-digests.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setpoint-config-'));
  cpSync(fixturePath('plant'), join(folder, 'processing'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const taskFile = 'tasks/site-load-day-ahead.yaml';
const bindingFile = 'bindings/plant-7.yaml';
const read = () =>
  readConfiguration(
    join(folder, 'processing'),
    join(folder, 'data'),
    readSite(fixtureFile('plant-site.yaml'), 'site.yaml'),
    keptDigestsFile(join(folder, 'digests.json')),
  );
const change = (file: string, ...edits: Edit[]): void => {
  const path = join(folder, 'processing', file);
  writeFileSync(path, editedText(readFileSync(path, 'utf8'), edits));
};
const lines = (): readonly string[] => {
  const found = read();
  return found.ok ? [] : found.lines;
};

describe('[data-processing §2.1] Config', () => {
  test('the example site commissions, with its defaults filled in', () => {
    const found = read();
    if (!found.ok) throw new Error(found.lines.join('\n'));
    expect(found.routes.map(({ task, binding, processor }) => [task.id, binding.id, processor.id])).toEqual([
      ['energy.site-load-day-ahead', 'energy.plant-7', 'setpoint-forecaster'],
    ]);
    expect(found.routes[0]?.task.quality.max_source_skew_seconds).toBe(5);
  });

  test.each<[string, string, Edit, string]>([
    ['an unknown key', taskFile, ['description:', 'colour:'], 'is not a known field'],
    ['a second key', taskFile, ['kind: forecast\n', 'kind: forecast\nkind: forecast\n'], 'duplicate key'],
    ['a null', taskFile, ['kind: forecast\n', 'kind: null\n'], '/kind'],
    ['another schema', bindingFile, ['binding.v1', 'binding.v2'], '/schema'],
    ['a revision of 0', taskFile, ['revision: 1', 'revision: 0'], '/revision'],
    ['a number as text', taskFile, ['revision: 1', 'revision: "1"'], '/revision'],
    ['an infinity', taskFile, ['max_missing_ratio: 0.02', 'max_missing_ratio: .inf'], 'finite'],
    [
      'an unknown transform',
      taskFile,
      ['quarter_hour_of_day_zero_based', 'phase_of_moon'],
      'unknown transform phase_of_moon',
    ],
    ['an unknown zone', taskFile, ['timezone: UTC', 'timezone: Mars/Olympus'], 'not an IANA time zone'],
    ['static features', taskFile, ['inputs:\n', 'inputs:\n  static_features: [{ name: rated }]\n'], 'static features'],
    [
      'the target as a future input',
      taskFile,
      [
        '{ name: temp_avg, unit: Cel, source: { kind: covariate, dataset_ref: weather.nwp',
        '{ name: load, unit: kW, source: { kind: covariate, dataset_ref: weather.nwp',
      ],
      'never an input',
    ],
    ['an output in another unit', taskFile, ['output: { unit: kW', 'output: { unit: MW'], "the target's unit kW"],
    [
      'a policy of nothing',
      taskFile,
      ['- { name: quarter_hour, aggregation', '- { name: other, aggregation'],
      'no input is called other',
    ],
    [
      'hold_last without a bound',
      taskFile,
      ['{ method: hold_last, max_cells: 4 }', '{ method: hold_last }'],
      'needs max_cells',
    ],
    [
      'a season off the cadence',
      taskFile,
      ['season_seconds: 604800, max', 'season_seconds: 604801, max'],
      'multiple of the cadence',
    ],
    ['an unknown fallback', taskFile, ['strategy: persistence', 'strategy: zero'], '/fallbacks/0/strategy'],
    [
      'a fallback of another version',
      taskFile,
      ['strategy: persistence, version: "1"', 'strategy: persistence, version: "2"'],
      '/fallbacks/0/version',
    ],
    [
      'a fallback from no feature',
      taskFile,
      ['"1", source_feature: load, max', '"1", source_feature: gas, max'],
      'no history feature is called gas',
    ],
    [
      'a range of nothing',
      taskFile,
      ['minimum: -60, maximum: 60', 'minimum: 60, maximum: -60'],
      'no value can be in this range',
    ],
    ['a colon in source_ref', bindingFile, ['source_ref: energy.site', 'source_ref: energy:site'], 'source_ref'],
    ['a secret in place of its name', 'routes.yaml', ['SVC_FORECASTER_BEARER_TOKEN', 'abc.def'], 'bearer_token_env'],
    [
      'another contract',
      'routes.yaml',
      ['contract: svc.data-processing.forecast.v1', 'contract: svc.data-processing.forecast.v2'],
      'unknown contract',
    ],
  ])('%s is refused with file and line', (_name, file, edit, reason) => {
    change(file, edit);
    const found = lines();
    expect(
      found.some((line) => line.startsWith(`${file}:`) && /^[^:]+:\d+: /.test(line) && line.includes(reason)),
      found.join('\n'),
    ).toBe(true);
  });

  test('relative_to: paths of runs begin at the binding, or in the data dir', () => {
    const paths = (): string[] => {
      const found = read();
      if (!found.ok) throw new Error(found.lines.join('\n'));
      return found.routes.flatMap(({ future }) =>
        future.flatMap(({ source }) => (source.kind === 'runs' ? [source.path] : [])),
      );
    };
    expect(paths()).toEqual([join(folder, 'processing', 'weather-nwp.json')]);
    change(bindingFile, ['path: ../weather-nwp.json', 'path: runs/nwp.json\n    relative_to: data_dir']);
    expect(paths()).toEqual([join(folder, 'data', 'runs', 'nwp.json')]);
  });

  test('all errors of all files at once', () => {
    change(taskFile, ['revision: 1', 'revision: 0']);
    change(bindingFile, ['revision: 1', 'revision: 0']);
    change('routes.yaml', ['enabled: true', 'enabled: maybe']);
    expect(new Set(lines().map((line) => line.split(':')[0]))).toEqual(new Set([taskFile, bindingFile, 'routes.yaml']));
  });

  test('a missing folder or file is one line', () => {
    rmSync(join(folder, 'processing', 'tasks'), { recursive: true });
    rmSync(join(folder, 'processing', 'routes.yaml'));
    expect(lines()).toEqual(['tasks: the folder does not exist', 'routes.yaml: file not found, or it cannot be read']);
  });

  test('a file with another spelling of the ending is an error, not a declaration that is missed', () => {
    const place = (name: string) => join(folder, 'processing', name);
    writeFileSync(place('tasks/other.yml'), '');
    writeFileSync(place('bindings/other.YAML'), '');
    expect(lines()).toEqual([
      'tasks/other.yml: rename it to end in .yaml',
      'bindings/other.YAML: rename it to end in .yaml',
    ]);
    expect(() => readTasks(place('tasks'))).toThrow('other.yml: rename it to end in .yaml');
  });

  test('a folder of tasks alone is named with its path, and why it cannot be read', () => {
    const tasks = join(folder, 'processing', 'tasks');
    rmSync(tasks, { recursive: true });
    expect(() => readTasks(tasks)).toThrow(`${tasks}: the folder does not exist`);
    writeFileSync(tasks, 'a file');
    expect(() => readTasks(tasks)).toThrow(`${tasks}: the folder cannot be read (ENOTDIR)`);
  });

  test('file_bytes: that many are read, one more is refused', () => {
    const path = join(folder, 'processing', 'routes.yaml');
    const text = readFileSync(path, 'utf8');
    const filled = (bytes: number): string => `${text}${'#'.repeat(bytes - Buffer.byteLength(text))}`;
    writeFileSync(path, filled(configurationLimits.file_bytes));
    expect(read().ok).toBe(true);
    writeFileSync(path, filled(configurationLimits.file_bytes + 1));
    expect(lines()[0]).toContain('is larger than');
  });

  test('files: that many declarations are read, one more is refused', () => {
    const text = readFileSync(join(folder, 'processing', taskFile), 'utf8');
    for (let index = 1; index < configurationLimits.files; index++)
      writeFileSync(
        join(folder, 'processing', 'tasks', `t${index}.yaml`),
        text.replace('revision: 1', `revision: ${index + 1}`),
      );
    expect(readTasks(join(folder, 'processing', 'tasks')).length).toBe(configurationLimits.files);
    writeFileSync(join(folder, 'processing', 'tasks', 'more.yaml'), text);
    expect(lines()[0]).toContain(`at most ${configurationLimits.files}`);
  });

  test('the same task and revision in two files is refused', () => {
    const text = readFileSync(join(folder, 'processing', taskFile), 'utf8');
    writeFileSync(join(folder, 'processing', 'tasks', 'again.yaml'), text);
    expect(lines()[0]).toContain('is already defined in another file');
  });
});

describe('[data-processing §2.3] a revision means one content for ever', () => {
  test('changed content under the same revision stops the start; under a new one it is taken', () => {
    expect(read().ok).toBe(true);
    change(taskFile, ['max_gap_seconds: 5400', 'max_gap_seconds: 5401']);
    expect(lines()).toEqual([`${taskFile}:3: /revision the content of revision 1 has changed; give it a new revision`]);
    change(taskFile, ['revision: 1', 'revision: 2']);
    change('routes.yaml', ['day-ahead, revision: 1', 'day-ahead, revision: 2']);
    expect(read().ok).toBe(true);
  });

  test('comments, layout and spelled-out defaults are not a change', () => {
    expect(read().ok).toBe(true);
    change(taskFile, ['max_gap_seconds: 5400', 'max_source_skew_seconds: 5 # the default\n  max_gap_seconds: 5400']);
    expect(read().ok).toBe(true);
  });

  test('[platform §1.1] the file of digests is readable by its owner only', () => {
    expect(read().ok).toBe(true);
    expect(statSync(join(folder, 'digests.json')).mode & 0o777).toBe(0o600);
  });

  test('a file of digests that is damaged stops the start instead of forgetting', () => {
    expect(read().ok).toBe(true);
    writeFileSync(join(folder, 'digests.json'), '{"schema":');
    expect(read).toThrow(/restore it or remove it/);
  });
});
