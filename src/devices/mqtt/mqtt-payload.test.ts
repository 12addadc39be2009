/** Numbers in MQTT payloads: strict in, exact out [points §3.2]. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numberIn, pathSteps, payloadOf } from './mqtt-payload.ts';

const read = (payload: string, path = '$') => numberIn(Buffer.from(payload), pathSteps(path));

describe('[points §3.2] numbers in MQTT payloads', () => {
  test.each([
    ['42.5', '$', 42.5],
    [' -1e3 ', '$', -1000],
    ['true', '$', 1],
    ['false', '$', 0],
    ['{"p_kw": 7}', '$.p_kw', 7],
    ['{"meter":{"values":[1,2.5]}}', '$.meter.values[1]', 2.5],
    ['[[0,3]]', '$[0][1]', 3],
  ])('%s at %s is %d', (payload, path, value) => {
    expect(read(payload, path)).toBe(value);
  });

  test.each([
    ['', '$'],
    ['null', '$'],
    ['"42"', '$'],
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

  test('what is written at a path is read there, whatever the number', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
    const path = fc.constantFrom('$', '$.value', '$.a.b-c', '$.a[2]', '$[0].x');
    fc.assert(
      fc.property(finite, path, (value, at) => {
        const back = numberIn(Buffer.from(payloadOf(value, pathSteps(at))), pathSteps(at));
        // JSON has no negative zero.
        return back === value;
      }),
    );
  });
});
