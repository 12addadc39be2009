/** A queue behaves like an array that is shifted from the front. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from './fifo.ts';

test('any sequence of operations has the results of an array', () => {
  const step = fc.oneof(
    fc.record({ push: fc.integer() }),
    fc.record({ take: fc.nat({ max: 5 }) }),
    fc.record({ head: fc.nat({ max: 5 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new Fifo<number>();
      const list: number[] = [];
      for (const each of steps) {
        if ('push' in each) {
          queue.push(each.push);
          list.push(each.push);
        } else if ('take' in each) expect(queue.take(each.take)).toEqual(list.splice(0, each.take));
        else expect(queue.head(each.head)).toEqual(list.slice(0, each.head));
        expect([queue.length, queue.first, [...queue]]).toEqual([list.length, list[0], list]);
      }
    }),
  );
});
