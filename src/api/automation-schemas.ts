/** The wire of area A [rules §2] as schemas: requests are validated by them, answers are described. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { decimal, idText, pageText } from './decimal.ts';
import { mapOf } from './map-schema.ts';
import { listOf } from './page.ts';
import { cooldownMsMax, nameMax, priorityMax, ruleTestsMax, testPointsMax } from './rule-limits.ts';
import { moment, nullable, successOf, whyText } from './wire.ts';

const upTo100 = decimal(1, 100);
export const ruleId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const revisionNumber = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
/** Blank names are refused after trimming. */
export const ruleName = Type.String({ minLength: 1, maxLength: 1000, pattern: '\\S', description: 'more than blanks' });
export const ruleDescription = Type.String({ maxLength: 2000 });
export const confirmed = Type.Literal(true);
/** Why somebody makes a change; kept with the revision. */
export const reasonText = Type.String({ maxLength: 500 });
const word = <S extends string>(value: S) => Type.Literal(value);
export const warning = Type.Object({
  code: Type.String(),
  message: Type.Optional(Type.String()),
  hint: Type.Optional(Type.String()),
});
const reason = strict({
  code: Type.String(),
  instance: Type.Optional(Type.Integer()),
  point: Type.Optional(Type.String()),
  rule_ids: Type.Optional(Type.Array(Type.Integer())),
});
/** A JSON object whose members are the parser's business. */
const document = mapOf(Type.Unknown());
/** The same where it is sent: any object will do. */
export const sentDocument = Type.Unsafe<object>(document);
const executionId = Type.String({ pattern: '^[0-9a-f-]{36}$', description: 'an execution id' });
export const pointKind = Type.Union([Type.Literal('measurement'), Type.Literal('action')]);

/** Counted as JSON Schema counts the other texts: by code point, not by UTF-16 unit. */
export const characters = (text: string): number => Array.from(text).length;

export const ruleParams = strict({ id: idText });
export const noParams = strict({});
export const noQuery = strict({});
export const confirmedBody = strict({ confirmed });
/** The same for a change of a rule. */
export const ruleChangeBody = strict({ reason: Type.Optional(reasonText), confirmed });
/** Enabling says in which mode; `live` when it is not said. */
export const enableBody = strict({
  mode: Type.Optional(Type.Union([Type.Literal('live'), Type.Literal('shadow')])),
  reason: Type.Optional(reasonText),
  confirmed,
});
export const optionalRuleChangeBody = Type.Union([Type.Undefined(), ruleChangeBody]);
/** Where the header alone confirms, a body is welcome but not needed. */
export const optionalConfirmedBody = Type.Union([Type.Undefined(), confirmedBody]);

export const listQuery = strict({
  page: Type.Optional(pageText),
  page_size: Type.Optional(upTo100),
  enabled: Type.Optional(Type.Union([Type.Literal('true'), Type.Literal('false')])),
  mode: Type.Optional(Type.Union([Type.Literal('live'), Type.Literal('shadow')])),
  search: Type.Optional(Type.String({ maxLength: 128 })),
  include: Type.Optional(Type.Literal('status')),
});
export const outcome = Type.Union([word('acted'), word('no_action'), word('skipped'), word('failed')]);
export const historyQuery = strict({
  before: Type.Optional(executionId),
  limit: Type.Optional(upTo100),
  from: Type.Optional(moment),
  to: Type.Optional(moment),
  changes: Type.Optional(Type.Literal('true')),
  outcome: Type.Optional(outcome),
});
export const deleteQuery = strict({ confirmed: Type.Optional(Type.Literal('true')) });

export const pointNumber = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const testedPoint = { instance: pointNumber, point: pointNumber };
/** The tests of a rule [rules §11]. */
export const testList = Type.Array(
  strict({
    name: Type.String({ minLength: 1, maxLength: nameMax, pattern: '\\S', description: 'more than blanks' }),
    at: Type.Optional(moment),
    given: Type.Array(strict({ ...testedPoint, point_type: pointKind, value: nullable(Type.Number()) }), {
      maxItems: testPointsMax,
    }),
    parameters: Type.Optional(mapOf(Type.Number())),
    then: Type.Object(
      {
        outcome: Type.Optional(outcome),
        writes: Type.Optional(
          Type.Array(strict({ ...testedPoint, value: Type.Number() }), { maxItems: testPointsMax }),
        ),
        output: Type.Optional(
          strict({ node_id: Type.String({ maxLength: 128 }), name: Type.String({ maxLength: 128 }) }),
        ),
      },
      { additionalProperties: false, minProperties: 1 },
    ),
  }),
  { maxItems: ruleTestsMax },
);

/** The name of a rule in files [rules §12]. */
export const ruleKey = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]{0,63}$',
  description: 'up to 64 lower-case letters, digits and hyphens',
});

export const createBody = strict({
  name: ruleName,
  key: Type.Optional(ruleKey),
  description: Type.Optional(ruleDescription),
  reason: Type.Optional(reasonText),
  confirmed,
});
export const updateBody = Type.Object(
  {
    name: Type.Optional(ruleName),
    key: Type.Optional(ruleKey),
    description: Type.Optional(nullable(ruleDescription)),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: priorityMax })),
    cooldown_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: cooldownMsMax })),
    // Shape and meaning are the parser's business: its issues come back as 422, all at once.
    trigger_config: Type.Optional(nullable(sentDocument)),
    flow_json: Type.Optional(sentDocument),
    tests: Type.Optional(testList),
    expected_revision: Type.Optional(revisionNumber),
    reason: Type.Optional(reasonText),
    confirmed,
  },
  { additionalProperties: false },
);

export const ruleMode = Type.Union([word('live'), word('shadow')]);

const lastRun = strict({ execution_id: executionId, started_at: moment, outcome: Type.String() });
const ruleStatus = strict({
  rule_id: ruleId,
  enabled: Type.Boolean(),
  mode: ruleMode,
  runnable: Type.Boolean(),
  state: Type.Union([word('waiting'), word('cooldown'), word('disabled'), word('not-runnable')]),
  reasons: Type.Array(reason),
  last_run: nullable(lastRun),
  next_due_at: nullable(moment),
  cooldown_until: nullable(moment),
  points: Type.Array(
    strict({
      instance: Type.Integer(),
      point_type: pointKind,
      point: Type.Integer(),
      last_value: nullable(Type.Number()),
      current_value: nullable(Type.Number()),
      distance: nullable(Type.Number()),
      threshold: nullable(Type.Number()),
      gap: Type.Boolean(),
    }),
  ),
});

export const listAnswer = successOf(
  listOf(
    strict({
      id: ruleId,
      name: Type.String(),
      key: nullable(Type.String()),
      enabled: Type.Boolean(),
      mode: ruleMode,
      description: nullable(Type.String()),
      status: Type.Optional(nullable(ruleStatus)),
    }),
  ),
);
export const ruleDocument = strict({
  id: ruleId,
  name: Type.String(),
  description: nullable(Type.String()),
  enabled: Type.Boolean(),
  mode: ruleMode,
  priority: Type.Integer(),
  cooldown_ms: Type.Integer(),
  trigger_config: nullable(document),
  flow_json: nullable(document),
  nodes_json: document,
  revision: Type.Integer(),
  created_at: moment,
  updated_at: moment,
  tests: testList,
  key: nullable(Type.String()),
  applied_revision: nullable(Type.Integer()),
});
export const ruleAnswer = successOf(ruleDocument);
export const createAnswer = successOf(strict({ id: ruleId, name: Type.String(), status: word('created') }));
export const updateAnswer = successOf(strict({ id: ruleId, status: word('updated'), warnings: Type.Array(warning) }));
export const deleteAnswer = successOf(strict({ id: ruleId, status: word('deleted') }));
export const enableAnswer = successOf(
  strict({ id: ruleId, status: word('enabled'), warnings: Type.Optional(Type.Array(warning)) }),
);
export const promoteAnswer = successOf(
  strict({ id: ruleId, status: word('promoted'), warnings: Type.Optional(Type.Array(warning)) }),
);
export const shadowReportQuery = strict({ against: idText, from: moment, to: moment });
export const shadowReportAnswer = successOf(
  strict({
    compared: Type.Integer(),
    equal: Type.Integer(),
    differences: Type.Array(
      strict({
        at: moment,
        actuators: Type.Array(
          strict({
            instance: Type.Integer(),
            point: Type.Integer(),
            shadow: nullable(Type.Number()),
            live: nullable(Type.Number()),
          }),
        ),
        nodes: Type.Array(Type.String()),
      }),
    ),
  }),
);
export const disableAnswer = successOf(strict({ id: ruleId, status: word('disabled') }));

const pointOfRun = { instance: Type.Integer(), point_type: pointKind, point: Type.Integer() };
const numberOrNull = nullable(Type.Number());
/** The inputs, decisions and writes of one run [rules §7.4]. */
export const executionRecord = Type.Object({
  execution_id: executionId,
  rule_id: ruleId,
  rule_revision: Type.Integer(),
  shadow: Type.Optional(Type.Literal(true)),
  trigger: Type.Object({
    type: Type.Union([word('interval'), word('on_change'), word('manual')]),
    point: Type.Optional(Type.Object(pointOfRun)),
  }),
  started_at: moment,
  duration_us: Type.Number(),
  outcome,
  success: Type.Boolean(),
  error: nullable(
    Type.Object({
      code: Type.String(),
      message: Type.String(),
      missing: Type.Optional(Type.Array(Type.String())),
      node_id: Type.Optional(Type.String()),
    }),
  ),
  actions_executed: Type.Array(
    Type.Object({
      node_id: Type.String(),
      ...pointOfRun,
      value: numberOrNull,
      written: Type.Optional(Type.Number()),
      success: Type.Boolean(),
      reason: Type.Optional(Type.String()),
      outranked_by: Type.Optional(ruleId),
    }),
  ),
  execution_path: Type.Array(Type.String()),
  matched_condition: nullable(Type.String()),
  variable_values: mapOf(numberOrNull),
  node_details: mapOf(Type.Unknown()),
  correlation_id: Type.String(),
});
export const executeAnswer = successOf(
  strict({
    rule_id: ruleId,
    outcome: Type.String(),
    actions_attempted: Type.Integer(),
    actions_succeeded: Type.Integer(),
    execution: executionRecord,
  }),
);
export const variablesAnswer = successOf(
  strict({
    rule_id: ruleId,
    variables: Type.Array(
      strict({
        name: Type.String(),
        node_ids: Type.Array(Type.String()),
        instance: Type.Integer(),
        point_type: pointKind,
        point: Type.Integer(),
        unit: Type.String(),
        value: nullable(Type.Number()),
        quality: Type.String(),
        observed_at: nullable(moment),
      }),
    ),
  }),
);
export const statusAnswer = successOf(ruleStatus);
export const historyAnswer = successOf(
  strict({ rule_id: ruleId, list: Type.Array(executionRecord), next_before: nullable(executionId) }),
);
const parameterEntry = strict({
  name: Type.String(),
  value: Type.Number(),
  unit: nullable(Type.String()),
  min: nullable(Type.Number()),
  max: nullable(Type.Number()),
  file_value: Type.Number(),
  changed: Type.Boolean(),
});
export const parameterAnswer = successOf(parameterEntry);
export const parameterParams = strict({
  name: Type.String({ minLength: 1, maxLength: 128, description: 'a parameter' }),
});
export const parameterBody = strict({
  value: Type.Number(),
  reason: Type.Optional(whyText),
  confirmed,
});
export const instancesAnswer = successOf(
  strict({
    site: strict({ id: Type.String(), name: Type.String() }),
    timezone: Type.String(),
    instances: Type.Array(
      strict({
        id: Type.Integer(),
        name: Type.String(),
        points: Type.Array(
          strict({
            id: Type.Integer(),
            name: Type.String(),
            kind: pointKind,
            unit: Type.String(),
            min: nullable(Type.Number()),
            max: nullable(Type.Number()),
            step: nullable(Type.Number()),
            writable: Type.Boolean(),
          }),
        ),
      }),
    ),
    parameters: Type.Array(parameterEntry),
  }),
);
export const schedulerStatusAnswer = successOf(
  Type.Object({
    running: Type.Boolean(),
    total_rules: Type.Integer(),
    enabled_rules: Type.Integer(),
    tick_interval_ms: Type.Integer(),
    late_ticks: Type.Integer(),
    overruns: Type.Integer(),
    queue_depth: Type.Integer(),
  }),
);
export const reloadAnswer = successOf(
  strict({
    rules_loaded: Type.Integer(),
    rules_failed: Type.Array(strict({ id: ruleId, code: Type.String() })),
    warnings: Type.Optional(Type.Array(warning)),
  }),
);
