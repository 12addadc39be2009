/** The backtest of a rule [rules §10] as an operation, with its wire. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { automationQuestion } from './automation-operation.ts';
import * as wire from './automation-schemas.ts';
import { mapOf } from './map-schema.ts';
import { cooldownMsMax, priorityMax } from './rule-limits.ts';
import { moment, nullable, successOf } from './wire.ts';

/** Most entries of each list of an answer. */
export const backtestPoints = { most: 100_000, standard: 10_000 } as const;

const pointNumbers = strict({ instance: wire.pointNumber, point: wire.pointNumber });
/** The plant of the mode `plant`: a battery between a load, a PV system and the grid [rules §10.6]. */
const assumption = strict({
  battery: strict({
    capacity_kwh: Type.Number({ exclusiveMinimum: 0 }),
    max_power_kw: Type.Number({ exclusiveMinimum: 0 }),
    efficiency: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
    initial_soc: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
    setpoint: pointNumbers,
    soc: pointNumbers,
    power: Type.Optional(pointNumbers),
  }),
  load: pointNumbers,
  pv: pointNumbers,
  grid: Type.Optional(pointNumbers),
});
const body = strict({
  from: moment,
  to: moment,
  mode: Type.Union([Type.Literal('recorded'), Type.Literal('replay'), Type.Literal('plant')]),
  revision: Type.Optional(wire.revisionNumber),
  flow_json: Type.Optional(wire.sentDocument),
  trigger_config: Type.Optional(nullable(wire.sentDocument)),
  priority: Type.Optional(Type.Integer({ minimum: 0, maximum: priorityMax })),
  cooldown_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: cooldownMsMax })),
  compare: Type.Optional(strict({ revision: wire.revisionNumber })),
  assume: Type.Optional(assumption),
  max_points: Type.Optional(Type.Integer({ minimum: 1, maximum: backtestPoints.most })),
});
const count = Type.Integer();
const doing = nullable(
  strict({
    outcome: Type.String(),
    path: Type.Array(Type.String()),
    writes: Type.Array(strict({ instance: Type.Integer(), point: Type.Integer(), value: nullable(Type.Number()) })),
  }),
);
const difference = strict({
  at: moment,
  field: Type.String(),
  recorded: Type.Unknown(),
  computed: Type.Unknown(),
  cause: Type.String(),
});
const energies = {
  charged_kwh: Type.Number(),
  discharged_kwh: Type.Number(),
  imported_kwh: Type.Number(),
  exported_kwh: Type.Number(),
  losses_kwh: Type.Number(),
};
const answer = successOf(
  strict({
    digest: Type.String(),
    rule_id: wire.ruleId,
    from: moment,
    to: moment,
    mode: Type.String(),
    evaluations: count,
    outcomes: strict({ acted: count, no_action: count, skipped: count, failed: count }),
    writes: Type.Array(
      strict({
        instance: Type.Integer(),
        point: Type.Integer(),
        changes: Type.Array(strict({ at: moment, value: Type.Number() })),
        counted: count,
      }),
    ),
    decisions: Type.Array(strict({ from: moment, to: moment, node_id: Type.String(), output: Type.String() })),
    outputs_share: mapOf(mapOf(Type.Number())),
    agreement: nullable(
      strict({
        compared: count,
        equal: count,
        ratio: nullable(Type.Number()),
        refused: count,
        unrecorded: count,
        differences: Type.Array(difference),
        causes: mapOf(count),
      }),
    ),
    feedback: Type.Array(
      strict({
        instance: Type.Integer(),
        point_type: Type.String(),
        point: Type.Integer(),
        written_by: Type.Array(Type.Integer()),
      }),
    ),
    first_divergence: nullable(strict({ at: moment, baseline: doing, candidate: doing })),
    warm_up: strict({ until: nullable(moment), functions: Type.Array(Type.String()) }),
    coverage: Type.Array(strict({ point: Type.String(), ratio: Type.Number(), gaps: count })),
    notes: Type.Array(Type.String()),
    plant: nullable(
      strict({
        soc: Type.Array(strict({ at: moment, value: Type.Number() })),
        ...energies,
        baseline: nullable(strict(energies)),
        recorded_soc_error: nullable(Type.Number()),
      }),
    ),
  }),
);

export const ruleBacktest = {
  run: {
    ...automationQuestion({
      name: 'automation.rule.backtest',
      summary: 'Backtest a rule, or a draft of it, on recorded history',
      path: '/rules/:id/backtest',
      params: wire.ruleParams,
      query: wire.noQuery,
      body,
      answer,
    }),
    reportsProgress: true,
  },
} as const;
