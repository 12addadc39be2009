/** An operator of the world: overrides and limits actuators, releases them, and checks that grants are effective. */
import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { type Hands, handPoints } from './hands.ts';
import type { Invariants } from './invariants.ts';
import { isMember } from './member.ts';
import type { Plant } from './plant.ts';
import type { Random } from './random.ts';
import type { SiteProcess } from './site-process.ts';
import { registerValue } from './world-site.ts';

interface OperatorParts {
  readonly hands: Hands;
  readonly invariants: Invariants;
  readonly plant: Plant;
  readonly now: () => number;
  readonly clock: Pick<Clock, 'wallMs'>;
  readonly note: (kind: string, what: string) => void;
}

/** An override reaches its device within this time when nothing fails. */
const reachesMs = 5000;

export class Operator {
  readonly #parts: OperatorParts;
  #orders = 0;
  /** Since when nothing has failed. */
  #quietSinceMs = 0;

  constructor(parts: OperatorParts) {
    this.#parts = parts;
  }

  /** Something fails, until then at most. */
  troubled(untilMs = this.#parts.now()): void {
    this.#quietSinceMs = Math.max(this.#quietSinceMs, untilMs);
  }

  /** One order; `isAlive` says whether the process that received it still runs. */
  async act(site: SiteProcess, random: Random, isAlive: () => boolean): Promise<void> {
    const { hands } = this.#parts;
    const ids = hands.ids();
    if (ids.length > 0 && random.chance(0.3)) return this.#release(site, random.pick(ids), isAlive);
    const place = random.pick(handPoints);
    const { key, instance, point, min, max } = place;
    const value = (): number => min + random.below(max - min + 1);
    const kind = random.chance(0.6) ? 'override' : 'limit';
    const isUpper = random.chance(0.7);
    const seconds = 1 + random.below(90);
    const chosen = value();
    const range: readonly [number, number] =
      kind === 'override' ? [chosen, chosen] : isUpper ? [min, chosen] : [chosen, max];
    const asked = kind === 'override' ? { value: chosen } : isUpper ? { max: chosen } : { min: chosen };
    const hand = hands.asked(key, kind, range, seconds * 1000);
    const body = { ...asked, for_seconds: seconds, reason: 'a test of the world' };
    const params = { instance: String(instance), point: String(point) };
    await this.#order(site, `automation.point.${kind}`, params, body, isAlive, {
      done: (answer) => hands.answered(hand, memberOf(answer, 'override_id'), this.#endOf(answer)),
      refused: () => hands.refused(hand),
    });
  }

  /** On the clock of the world: the time in the answer, which counts from when the order was executed. */
  #endOf(answer: unknown): number {
    const { clock, now } = this.#parts;
    return now() + Date.parse(memberOf(answer, 'until')) - clock.wallMs();
  }

  async #release(site: SiteProcess, id: string, isAlive: () => boolean): Promise<void> {
    const { hands } = this.#parts;
    hands.releasing(id);
    const over = (): void => hands.released(id);
    await this.#order(site, 'automation.point.release', { override_id: id }, {}, isAlive, {
      done: over,
      refused: over,
    });
  }

  async #order(
    site: SiteProcess,
    name: string,
    params: Readonly<Record<string, string>>,
    body: object,
    isAlive: () => boolean,
    on: { readonly done: (answer: unknown) => void; readonly refused: () => void },
  ): Promise<void> {
    const { invariants, note } = this.#parts;
    const correlationId = `hand-${++this.#orders}-00000`;
    try {
      const answer = await site.call(name, params, body, correlationId);
      if (!isAlive()) return;
      on.done(answer);
      note('hand', `${name} ${params['instance'] ?? ''}:${params['point'] ?? ''} ${JSON.stringify(body)} ok`);
      const events = await site.database.query
        .selectFrom('audit_event')
        .select('outcome')
        .where('correlation_id', '=', correlationId)
        .execute();
      if (!events.some(({ outcome }) => outcome === 'accepted'))
        invariants.violate(`${name}: done without an accepted record`);
    } catch (error) {
      if (!isAlive()) return;
      if (!(error instanceof Fault)) throw error;
      note('hand', `${name} ${error.code}`);
      if (error.status < 500) on.refused();
    }
  }

  /** Where nothing has failed for some time, each actuator has the value of its override. */
  look(): void {
    const { hands, invariants, plant, now } = this.#parts;
    if (now() - this.#quietSinceMs < 2 * reachesMs) return;
    for (const { key, device: name, register, facts } of handPoints) {
      const held = hands.holding(key, reachesMs);
      const device = plant.devices.find((each) => each.name === name);
      if (held === null || device === undefined || device.fault !== 'none' || hands.mayLimit(key, reachesMs)) continue;
      const value = registerValue(facts, device.registers[register] ?? 0);
      if (Math.abs(value - held) > 1e-6) invariants.violate(`${key}: held at ${held}, and the device has ${value}`);
    }
  }
}

function memberOf(answer: unknown, name: 'override_id' | 'until'): string {
  return isMember(answer, 'data') && isMember(answer.data, 'data') && isMember(answer.data.data, name)
    ? String(answer.data.data[name])
    : '';
}
