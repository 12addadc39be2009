/** The site of the world, and rules that an engineer might draw for it. */
import { readSite, type SitePoint } from '../../site/site.ts';
import type { Random } from './random.ts';

export const worldSite = readSite(
  `schema: svc.site.v1
site: { id: world, name: World, timezone: Europe/Amsterdam }
parameters:
  threshold: { value: 50 }
channels:
  - { id: battery, driver: modbus-tcp, host: simulated, port: 502, unit_id: 1, poll_interval_ms: 500, timeout_ms: 400, word_order: big }
  - { id: meter, driver: modbus-tcp, host: simulated, port: 503, unit_id: 1, poll_interval_ms: 1000, timeout_ms: 400, word_order: big }
  - { id: derived, driver: virtual }
instances:
  - id: 1
    name: battery
    points:
      - { id: 1, name: soc, kind: measurement, unit: "%", scale: 0.1, min: 0, max: 100, channel: battery, address: { table: holding, register: 0, type: uint16 } }
      - { id: 2, name: power, kind: measurement, unit: kW, scale: 0.1, channel: battery, address: { table: holding, register: 1, type: int16 } }
      - { id: 1, name: setpoint, kind: action, unit: kW, scale: 0.1, min: -100, max: 100, step: 0.5, priority_hold_ms: 5000, channel: battery, address: { table: holding, register: 10, type: int16 } }
      - { id: 2, name: mode, kind: action, unit: "1", min: 0, max: 3, step: 1, channel: battery, address: { table: holding, register: 11, type: uint16 } }
  - id: 2
    name: meter
    points:
      - { id: 1, name: load, kind: measurement, unit: kW, scale: 0.1, channel: meter, address: { table: input, register: 0, type: int16 } }
      - { id: 2, name: grid, kind: measurement, unit: kW, scale: 0.1, channel: meter, address: { table: input, register: 1, type: int16 } }
      - { id: 1, name: limit, kind: action, unit: kW, min: 0, max: 50, max_writes_per_minute: 6, channel: meter, address: { table: holding, register: 20, type: uint16 } }
  - id: 3
    name: derived
    points:
      - { id: 1, name: flag, kind: measurement, unit: "1", channel: derived }
      - { id: 2, name: counter, kind: measurement, unit: "1", channel: derived }
      - { id: 1, name: request, kind: action, unit: kW, min: -1000, max: 1000, channel: derived }
`,
  'site.yaml',
);

/** The value of a point by its register. */
export function registerValue({ address, scale, offset }: SitePoint, raw: number): number {
  const isSigned = address !== undefined && 'type' in address && address.type === 'int16';
  return (isSigned && raw > 0x7fff ? raw - 0x1_0000 : raw) * scale + offset;
}

interface Ref {
  readonly instance: number;
  readonly point_type: 'measurement' | 'action';
  readonly point: number;
}
const ref = (instance: number, point_type: Ref['point_type'], point: number): Ref => ({ instance, point_type, point });
const readable = [
  ref(1, 'measurement', 1),
  ref(1, 'measurement', 2),
  ref(2, 'measurement', 1),
  ref(2, 'measurement', 2),
  ref(3, 'measurement', 1),
  ref(3, 'measurement', 2),
  ref(3, 'action', 1),
];
const setpoint = ref(1, 'action', 1);
const writable = [
  setpoint,
  setpoint,
  ref(1, 'action', 2),
  ref(2, 'action', 1),
  ref(3, 'measurement', 1),
  ref(3, 'measurement', 2),
  ref(3, 'action', 1),
];

/** Reads the state of charge; both branches assign `target`, which is declared behind them [rules §4.4]. */
export function drawBranches(): Pick<DrawnRule, 'flow_json' | 'trigger_config'> {
  const assign = (id: string, value: string) =>
    node(id, 'calculation', { assignments: [{ name: 'target', expression: value }], wires: { default: ['act'] } });
  const nodes = [
    node('start', 'start', { wires: { default: ['read'] } }),
    node('read', 'input', {
      variables: [{ name: 'x', instance: 1, point_type: 'measurement', point: 1 }],
      wires: { default: ['decide'] },
    }),
    node('decide', 'decision', {
      branches: [{ name: 'yes', when: 'x > 50' }],
      wires: { yes: ['high'], else: ['low'] },
    }),
    assign('high', '10'),
    assign('low', '-10'),
    node('act', 'action', { writes: [{ instance: 1, point: 1, value: 'target' }], wires: { default: ['end'] } }),
    node('end', 'end', {}),
  ];
  return { flow_json: { nodes, edges: [] }, trigger_config: { type: 'interval', interval_ms: 1000 } };
}

/** Commands both action points of the battery at every tick, whatever the state of the plant. */
export function drawBusy(): Omit<DrawnRule, 'priority'> {
  const writes = [
    { instance: 1, point: 1, value: 10 },
    { instance: 1, point: 2, value: 1 },
  ];
  const nodes = [
    node('start', 'start', { wires: { default: ['act'] } }),
    node('act', 'action', { writes, wires: { default: ['end'] } }),
    node('end', 'end', {}),
  ];
  return { flow_json: { nodes, edges: [] }, trigger_config: { type: 'interval', interval_ms: 100 }, cooldown_ms: 0 };
}

export interface DrawnRule {
  readonly flow_json: object;
  readonly trigger_config: object | null;
  readonly priority: number;
  readonly cooldown_ms: number;
}

const at = { x: 0, y: 0 };
const node = (id: string, type: string, config: object) => ({ id, type, position: at, data: { config } });

/** Reads one point as `x`, decides, writes one to three points; `x` is what an on-change rule is triggered by. */
export function drawRule(random: Random): DrawnRule {
  const source = random.pick(readable);
  const targets = new Set(Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => random.pick(writable)));
  const conditions = [
    'x > threshold',
    'x < 30',
    'hysteresis(x, 60, 20)',
    'held(x > 10, 2)',
    'x > -10000',
    'rising(x > 40)',
    'moving_avg(x, 10) > 50',
  ];
  const values = [0, 1, 2, 40, 'x', 'x / 3', '-x', 'clamp(x, -100, 100)', '150', 'integrate(x, 10)', 'threshold'];
  const flow = {
    nodes: [
      node('start', 'start', { wires: { default: ['read'] } }),
      node('read', 'input', {
        variables: [{ name: 'x', ...source }],
        parameters: [{ name: 'threshold', parameter: 'threshold' }],
        wires: { default: ['decide'] },
      }),
      node('decide', 'decision', {
        branches: [{ name: 'yes', when: random.pick(conditions) }],
        wires: { yes: ['act'], else: ['end'] },
      }),
      node('act', 'action', {
        writes: [...targets].map((target) => ({ ...target, value: random.pick(values) })),
        wires: { default: ['end'] },
      }),
      node('end', 'end', {}),
    ],
    edges: [],
  };
  return {
    flow_json: flow,
    trigger_config: random.chance(0.45)
      ? onChange(random, source)
      : { type: 'interval', interval_ms: random.pick([100, 500, 1000, 5000]) },
    priority: random.pick([0, 0, 10, 50, 100]),
    // The last is beyond what may be stored.
    cooldown_ms: random.pick([0, 0, 0, 0, 500, 500, 3000, 3000, 60_000, 60_000, Number.MAX_SAFE_INTEGER]),
  };
}

function onChange(random: Random, source: Ref): object {
  return {
    type: 'on_change',
    point_refs: [source],
    time_deadband_ms: random.pick([0, 0, 0, 1000]),
    value_deadband: random.chance(0.3) ? { type: 'absolute', threshold: 1 } : null,
  };
}
