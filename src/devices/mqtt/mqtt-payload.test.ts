/** Numbers in MQTT payloads: strict on input, exact on output [points §3.2]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type PayloadFormat, pathSteps, payloadOf, valueIn } from './mqtt-payload.ts';

const format = (path: string, more: Partial<PayloadFormat> = {}): PayloadFormat => ({
  payload: 'json',
  steps: pathSteps(path),
  map: undefined,
  ...more,
});
const say = (payload: string, given: PayloadFormat) => valueIn(Buffer.from(payload), given);
const read = (payload: string, path = '$') => {
  const value = say(payload, format(path));
  return value !== null && 'number' in value ? value.number : null;
};

describe('[points §3.2] numbers in MQTT payloads', () => {
  test.each([
    ['42.5', '$', 42.5],
    [' -1e3 ', '$', -1000],
    ['true', '$', 1],
    ['false', '$', 0],
    ['{"p_kw": 7}', '$.p_kw', 7],
    ['{"meter":{"values":[1,2.5]}}', '$.meter.values[1]', 2.5],
    ['[[0,3]]', '$[0][1]', 3],
    ['{"em:0": {"a b": 4}}', '$[\'em:0\']["a b"]', 4],
    ['"42"', '$', 42],
    ['{"p": " -1.5e2 "}', '$.p', -150],
  ])('%s at %s is %d', (payload, path, value) => {
    expect(read(payload, path)).toBe(value);
  });

  test.each([
    ['', '$'],
    ['null', '$'],
    ['"42 kW"', '$'],
    ['"0x10"', '$'],
    ['""', '$'],
    ['NaN', '$'],
    ['1e999', '$'],
    ['12 kW', '$'],
    ['{"p_kw": null}', '$.p_kw'],
    ['{"p_kw": 7}', '$'],
    ['{"p_kw": 7}', '$.p'],
    ['{"a": {}}', '$.a.constructor'],
    ['[1]', '$[1]'],
    ['7', '$.p'],
  ])('%s at %s has no value', (payload, path) => {
    expect(read(payload, path)).toBeNull();
  });

  test('any number written at a path is read there', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
    const path = fc.constantFrom('$', '$.value', '$.a.b-c', '$.a[2]', '$[0].x');
    fc.assert(
      fc.property(finite, path, (value, at) => {
        // JSON has no negative zero.
        return read(payloadOf(value, format(at)) ?? '', at) === value;
      }),
    );
  });

  test('words of the device stand for numbers, both ways, and no other word counts', () => {
    const onOff = format('$.state', { map: { ON: 1, OFF: 0, '2': 2 } });
    expect(['ON', 'OFF', 'on', '1'].map((word) => say(JSON.stringify({ state: word }), onOff))).toEqual([
      { number: 1 },
      { number: 0 },
      null,
      null,
    ]);
    expect(say('{"state": 2}', onOff)).toEqual({ number: 2 });
    expect([payloadOf(1, onOff), payloadOf(5, onOff)]).toEqual(['{"state":"ON"}', null]);
    const plain = format('$', { payload: 'text', map: { online: 1 } });
    expect([say('online', plain), say('constructor', plain), payloadOf(1, plain)]).toEqual([
      { number: 1 },
      null,
      'online',
    ]);
  });

  test('text is text, and a plain number is no JSON', () => {
    expect(say('heating', format('$', { payload: 'text' }))).toEqual({ text: 'heating' });
    expect(say(' +7.5 ', format('$', { payload: 'number' }))).toEqual({ number: 7.5 });
    expect([
      say('7,5', format('$', { payload: 'number' })),
      payloadOf(7.5, format('$', { payload: 'number' })),
    ]).toEqual([null, '7.5']);
  });
});
