/** A task declaration is refused with the line, the member and what it needs [data-processing §2.1]. */
import { expect, test } from 'vitest';
import { YamlError } from '../../base/yaml.ts';
import { editedText, fixtureFile } from '../../testing/load-site.ts';
import { readTask } from './read.ts';

const name = 'tasks/site-load-forecast.yaml';
const fixture = fixtureFile(`load/${name}`);

function faultsOf(from: string, to: string): readonly string[] {
  try {
    readTask(editedText(fixture, [[from, to]]), 'task.yaml');
  } catch (error) {
    if (error instanceof YamlError) return error.message.split('\n');
    throw error;
  }
  throw new Error('the declaration was accepted');
}

const load = '{ name: load, unit: kW, source: { kind: measurement,';
const rainLater =
  '    - { name: rain, unit: mm, range: { minimum: 0 }, source: { kind: covariate, dataset_ref: weather.nwp, field: precipitation } }\n';
const persistence = '{ strategy: persistence, version: "1", source_feature: load, max_output_age_seconds: 1800 }';
const fallback = (more: string) => persistence.replace('strategy: persistence,', `${more},`);

test.each<[string, string, string, string]>([
  ['a feature twice', rainLater, rainLater + rainLater, '/inputs/future_covariates/3/name duplicate feature rain'],
  ['a text', load, '{ name: load, value_type: string, source: { kind: measurement,', 'no source provides string'],
  [
    'a text with a unit',
    'unit: mm, range: { minimum: 0 }',
    'value_type: string, unit: mm',
    'string values have no unit',
  ],
  ['a number without a unit', 'name: rain, unit: mm,', 'name: rain,', '/inputs/history/3 a number needs a unit'],
  ['an unknown transform', 'transform: quarter_hour_of_day_zero_based', 'transform: tide', 'unknown transform tide'],
  [
    'an empty range',
    'range: { minimum: 0, maximum: 100 }',
    'range: { minimum: 100, exclusive_maximum: 100 }',
    'no value',
  ],
  [
    'another unit of the result',
    'output: { unit: kW',
    'output: { unit: W',
    "/output/unit must be the target's unit kW",
  ],
  [
    'another sign of the result',
    'output: { unit: kW, sign_convention: positive_consumption',
    'output: { unit: kW, sign_convention: positive_generation',
    "/output/sign_convention must be the target's positive_consumption",
  ],
  ['a result of no value', 'max_quantiles: 0', 'max_quantiles: 0, minimum: 5, maximum: 4', 'minimum is above maximum'],
  ['another unit of the target', load, load.replace('kW', 'W'), "/inputs/history/0/unit must be the target's unit"],
  [
    'a measurement of the future',
    rainLater,
    '    - { name: wind, unit: m/s, source: { kind: measurement, instance_ref: site_load, point_ref: wind } }\n',
    'a measurement is not known ahead of time; use a covariate or a calendar',
  ],
  ['future values of the target', rainLater, rainLater.replace('rain, unit: mm', 'load, unit: kW'), 'never an input'],
  ['another unit in the future', rainLater, rainLater.replace('mm', 'm'), 'must be mm, as in history'],
  [
    'a calendar alone',
    fixture.slice(fixture.indexOf('    - { name: load'), fixture.indexOf('    - { name: quarter_hour')),
    '',
    '/inputs/history needs at least one recorded feature',
  ],
  ['a policy of no input', '- { name: rain, aggregation', '- { name: snow, aggregation', 'no input is called snow'],
  [
    'two policies of one input',
    '- { name: quarter_hour, aggregation: last',
    '- { name: rain, aggregation: last',
    'rain has two policies',
  ],
  ['filling without a limit', 'missing_policy: reject', 'missing_policy: { method: linear }', 'linear needs max_cells'],
  [
    'a season over a cadence that does not divide a day',
    fixture.slice(fixture.indexOf('cadence_seconds'), fixture.indexOf('quality:')),
    fixture
      .slice(fixture.indexOf('cadence_seconds'), fixture.indexOf('quality:'))
      .replace('cadence_seconds: 900', 'cadence_seconds: 700')
      .replace('missing_policy: reject', 'missing_policy: { method: seasonal_day }'),
    'needs a cadence that divides a day',
  ],
  ['a fallback twice', persistence, `${persistence}\n  - ${persistence}`, 'duplicate strategy persistence'],
  ['a fallback of no feature', 'source_feature: load', 'source_feature: wind', 'no history feature is called wind'],
  ['a fallback in another unit', 'source_feature: load', 'source_feature: rain', 'must have unit kW'],
  ['a season that is not given', persistence, fallback('strategy: seasonal-naive'), 'needs season_seconds'],
  ['a season too many', persistence, fallback('strategy: persistence, season_seconds: 900'), 'has no season_seconds'],
  ['weeks that are not given', persistence, fallback('strategy: historical-average'), 'historical-average needs weeks'],
  ['weeks too many', persistence, fallback('strategy: persistence, weeks: 4'), 'persistence has no weeks'],
  [
    'a season between two steps',
    persistence,
    fallback('strategy: seasonal-naive, season_seconds: 1000'),
    'must be a multiple of the cadence',
  ],
  ['a time zone that is none', 'timezone: UTC', 'timezone: Mars/Olympus', 'is not an IANA time zone'],
])('%s', (_, from, to, reason) => {
  expect(faultsOf(from, to)).toContainEqual(expect.stringMatching(/^task\.yaml:\d+: \//));
  expect(faultsOf(from, to).join('\n')).toContain(reason);
});
