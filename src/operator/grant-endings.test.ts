/** The end of an override is recorded once, however often the engine reports it and the log refuses it [points §7.1]. */
import { expect, test } from 'vitest';
import { Fault } from '../base/fault.ts';
import { silentLog } from '../base/log.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { recordGrantEndings } from './grant-endings.ts';

test('[points §7.1] an end that the audit log cannot take is recorded again until it does, and then forgotten', async () => {
  const clock = simulatedClock();
  const [recorded, forgotten]: [unknown[], string[]] = [[], []];
  let refusals = 2;
  const endings = recordGrantEndings({
    audit: {
      async append(entry) {
        if (refusals-- > 0) throw new Fault('audit-unavailable', 'the disk is full');
        recorded.push(entry);
        return {} as never;
      },
    },
    clock,
    log: silentLog,
    forget: async (ids) => void forgotten.push(...ids),
  });
  const grant = {
    kind: 'override',
    id: '4.1.x',
    instance: 4,
    point: 1,
    value: 0,
    fromMs: 0,
    untilMs: 1000,
    by: { kind: 'user', id: 'ada' },
    reason: 'a test',
  } as const;
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  endings.take([{ grant, endedMs: 1000 }]);
  await settle();
  // The engine has restarted and reports it again.
  endings.take([{ grant, endedMs: 1000 }]);
  await settle();
  expect([recorded, forgotten]).toEqual([[], []]);
  clock.advance(1000);
  await settle();
  expect(forgotten).toEqual(['4.1.x']);
  expect(recorded).toMatchObject([
    {
      action: 'automation.point.expire',
      resource: { kind: 'automation-point', resourceId: 'automation-point:4:A:1' },
      details: { override_id: '4.1.x', state: 'expired', ended_at: '1970-01-01T00:00:01.000Z' },
    },
  ]);
  endings.stop();
});
