/** The messages to Home Assistant, and their times [points §3.5]. */
import { expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { deviceLimits } from '../devices/limits.ts';
import { type SimulatedClock, simulatedClock } from '../testing/simulated-clock.ts';
import { tankSite } from '../testing/tank-site.ts';
import { HomeAssistantPublisher, type PublisherParts } from './home-assistant-publisher.ts';

const intervalMs = deviceLimits.publish_interval_ms;
const turnsPerRound = 50;

async function rounds(clock: SimulatedClock, count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    clock.advance(intervalMs);
    for (let turn = 0; turn < turnsPerRound; turn++) await Promise.resolve();
  }
}

/** A publisher of a site without rules, over an outlet that accepts `room` messages a round. */
function publisher(room: () => number, controls: () => boolean = () => true) {
  const clock = simulatedClock();
  const said: string[] = [];
  const opened = {
    count: 0,
    closed: 0,
    reconnect: (): void => undefined,
    retained: (_topic: string, _payload: string): void => undefined,
  };
  let left = 0;
  const parts = {
    site: () => tankSite,
    sample: async () => null,
    devices: { texts: async () => [] },
    engine: { ask: async () => [] },
    store: { heads: async () => ((left = room()), []), names: async () => new Map() },
    controls,
    intervalMs,
    clock,
    log: silentLog,
  } as unknown as PublisherParts;
  const own = new HomeAssistantPublisher(parts, ({ connected, retained }) => {
    opened.count++;
    opened.reconnect = connected;
    opened.retained = retained;
    return {
      publish(topic) {
        if (left-- <= 0) return false;
        said.push(topic);
        return true;
      },
      stop: async () => void opened.closed++,
    };
  });
  return { own, clock, said, opened };
}

/** A discovery and a state for each point. */
const messages = tankSite.points.length * 2;

test('[points §3.5] messages that the broker does not accept are repeated in the next rounds; unchanged ones are sent once', async () => {
  const { own, clock, said, opened } = publisher(() => 3);
  await rounds(clock, 1);
  expect(said).toHaveLength(3);
  await rounds(clock, messages);
  expect(said).toHaveLength(messages);
  expect(new Set(said).size).toBe(messages);
  opened.reconnect();
  await rounds(clock, messages);
  expect(said).toHaveLength(2 * messages);
  await own.stop();
});

test('[points §3.5] the broker forgets points and rules that are gone; topics of others stay', async () => {
  const { id } = tankSite;
  const { own, clock, said, opened } = publisher(() => 100);
  await rounds(clock, 1);
  opened.reconnect();
  said.length = 0;
  const gone = [
    `homeassistant/sensor/setpoint_${id}/9_measurement_1/config`,
    `homeassistant/sensor/setpoint_${id}/rule_12/config`,
    `setpoint/${id}/9/measurement/1`,
    `setpoint/${id}/rule/12`,
  ];
  const others = [
    `homeassistant/sensor/setpoint_${id}/own/config`,
    'homeassistant/sensor/setpoint_t/9_measurement_1/config',
    `setpoint/${id}/status`,
    `setpoint/${id}/9/note/1`,
    'setpoint/t/9/measurement/1',
  ];
  for (const topic of [...gone, ...others]) opened.retained(topic, 'kept');
  await rounds(clock, 2);
  expect(said.filter((topic) => gone.includes(topic)).toSorted()).toEqual(gone.toSorted());
  expect(said.filter((topic) => others.includes(topic))).toEqual([]);
  await own.stop();
});

test('[points §3.5] only the leader has a connection', async () => {
  let controls = false;
  const { own, clock, said, opened } = publisher(
    () => 100,
    () => controls,
  );
  await rounds(clock, 3);
  expect([opened.count, said.length]).toEqual([0, 0]);
  controls = true;
  await rounds(clock, 1);
  expect([opened.count, said.length]).toEqual([1, messages]);
  controls = false;
  await rounds(clock, 1);
  expect(opened.closed).toBe(1);
  await own.stop();
});
