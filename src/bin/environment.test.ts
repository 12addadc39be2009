/** [platform §1.1] a setting that is misspelt or empty stops the start: its default would be another site, or another address. */
import { describe, expect, test } from 'vitest';
import { readConfig } from './config.ts';
import { misspeltSetting, settingNames } from './environment.ts';

describe('settings', () => {
  test.each([
    ['SVC_DATADIR', 'SVC_DATA_DIR'],
    ['SVC_JWT_SECRT', 'SVC_JWT_SECRET'],
    ['SVC_ROLE', 'SVC_ROLES'],
    ['SVC_DATABSE_URL', 'SVC_DATABASE_URL'],
    ['SVC_DATADI', 'SVC_DATA_DIR'],
  ])('%s is refused: %s is meant', (name, meant) => {
    expect(() => readConfig({ [name]: 'x' })).toThrow(`${name} is not a setting; did you mean ${meant}?`);
  });

  test('names of secrets, of other programs and of an orchestrator are no settings of ours', () => {
    const others = {
      SVC_METER_PASSWORD: 'x',
      SVC_SERVICE_HOST: 'x',
      SVC_PORT_8080_TCP: 'x',
      SVC_DATAD: 'x',
      PATH: 'x',
    };
    expect(misspeltSetting(others)).toBeNull();
  });

  test.each(['SVC_HTTP_HOST', 'SVC_DATA_DIR', 'SVC_CONFIG_DIR'])('an empty %s is refused', (name) => {
    expect(() => readConfig({ [name]: '' })).toThrow(`${name} is empty: give it a value, or unset it`);
    expect(() => readConfig({ [name]: ' ' })).toThrow(`${name} is empty`);
  });

  test('no setting is taken for a misspelt other one', () => {
    for (const name of settingNames) expect(misspeltSetting({ [name]: 'x' })).toBeNull();
  });
});
