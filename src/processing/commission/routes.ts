/**
 * `routes.yaml` [data-processing §2.4]: the processors, which task
 * and binding is sent to which of them with which limits, and the source of history.
 */
import Type, { type Static } from 'typebox';
import { forecastContractId, identifierSchema, revisionSchema, wireLimits } from '../../api/processing.ts';
import { decoder } from '../../base/decode.ts';
import { strict } from '../../base/schema.ts';
import { notFinite, parseYaml, YamlError } from '../../base/yaml.ts';
import { environmentNameSchema, optional, wholeSchema, words } from '../../contract/lexical.ts';
import type { Placed } from '../../contract/task/read.ts';

/** Maximum bytes that any member of this file may allow for one message. */
const messageBytesMax = 268_435_456;
/** Ten minutes: no frame or answer takes longer. */
const waitMsMax = 600_000;
const endpointSchema = Type.String({ minLength: 1, maxLength: 2048 });

const processorSchema = strict({
  id: identifierSchema,
  version: identifierSchema,
  contract: identifierSchema,
  endpoint: endpointSchema,
  boundary: words('local', 'remote'),
  requires_artifact: optional(Type.Boolean()),
  max_frame_cells: wholeSchema(1, 10_000_000),
  max_request_bytes: wholeSchema(1, messageBytesMax),
  max_response_bytes: wholeSchema(1, messageBytesMax),
  connect_timeout_ms: wholeSchema(1, waitMsMax),
  request_timeout_ms: wholeSchema(1, waitMsMax),
  bearer_token_env: optional(environmentNameSchema),
  max_clock_skew_ms: optional(wholeSchema(0, waitMsMax)),
});
const revisionedSchema = strict({ id: identifierSchema, revision: revisionSchema });
/** A day: a forecast that is issued less often is not one of the next day. */
const scheduleSecondsMax = 86_400;
const scheduleSchema = strict({
  every_seconds: wholeSchema(1, scheduleSecondsMax),
  offset_seconds: optional(wholeSchema(0, scheduleSecondsMax - 1)),
  horizon_steps: optional(wholeSchema(1, wireLimits.horizonStepsMax)),
  quantiles: optional(
    Type.Array(Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 }), { maxItems: wireLimits.quantilesMax }),
  ),
});
const routeSchema = strict({
  task: revisionedSchema,
  binding: revisionedSchema,
  processor: identifierSchema,
  enabled: Type.Boolean(),
  deadline_ms: wholeSchema(1, waitMsMax),
  audit_finalization_timeout_ms: wholeSchema(1, waitMsMax),
  max_concurrency: wholeSchema(1, 1024),
  remote_preapproved: optional(Type.Boolean()),
  confirmation: optional(words('never', 'required')),
  egress_source_ref: optional(Type.Boolean()),
  keep_results: optional(Type.Boolean()),
  schedule: optional(scheduleSchema),
});
/** The optional upstream history adapter [data-processing §4.10]; without it the embedded store is read. */
const upstreamHistorySchema = strict({
  adapter: Type.Literal('upstream-http'),
  endpoint: endpointSchema,
  connect_timeout_ms: wholeSchema(1, waitMsMax),
  request_timeout_ms: wholeSchema(1, waitMsMax),
  max_response_bytes: wholeSchema(1, messageBytesMax),
  bearer_token_env: optional(environmentNameSchema),
});

const routesGrammar = strict({
  schema: Type.Literal('svc.data-processing-routes.v1'),
  history: optional(Type.Union([strict({ adapter: Type.Literal('embedded') }), upstreamHistorySchema])),
  processors: Type.Array(processorSchema, { maxItems: 64 }),
  routes: Type.Array(routeSchema, { maxItems: 1024 }),
});

type ProcessorText = Static<typeof processorSchema>;
type RouteText = Static<typeof routeSchema>;
export type UpstreamHistory = Static<typeof upstreamHistorySchema>;

/** A processor with every default filled in. */
export type ProcessorSettings = Omit<ProcessorText, 'requires_artifact' | 'max_clock_skew_ms' | 'bearer_token_env'> & {
  readonly contract: typeof forecastContractId;
  readonly requires_artifact: boolean;
  readonly max_clock_skew_ms: number;
  /** Null: the processor is called without a token. */
  readonly bearer_token_env: string | null;
};

export type ScheduleSettings = Static<typeof scheduleSchema>;

/** A route with every default filled in; `confirmation` depends on the processor's boundary. */
export type RouteSettings = Required<Omit<RouteText, 'schedule'>> & {
  /** Null: it runs only on request. */
  readonly schedule: ScheduleSettings | null;
};

export interface Routes {
  /** Null: the embedded store. */
  readonly upstreamHistory: UpstreamHistory | null;
  readonly processors: readonly ProcessorSettings[];
  readonly routes: readonly RouteSettings[];
}

const defaultClockSkewMs = 2000;
const decode = decoder(routesGrammar);

/** Throws a YamlError with one line per fault. */
export function readRoutes(text: string, fileName: string): Placed<Routes> {
  const file = parseYaml(text, fileName);
  const faults = notFinite(file.value, '').map((path) => file.at(path, 'must be a finite number'));
  const decoded = decode(file.value);
  if (!decoded.ok)
    throw new YamlError([...faults, ...decoded.issues.map((issue) => file.at(issue.path, issue.message))]);
  const { value } = decoded;
  const processors = value.processors.flatMap((processor, index) => {
    const { contract } = processor;
    const known = contract === forecastContractId;
    if (!known)
      faults.push(file.at(`/processors/${index}/contract`, `unknown contract; known is ${forecastContractId}`));
    if (value.processors.findIndex((other) => other.id === processor.id) !== index)
      faults.push(file.at(`/processors/${index}/id`, `duplicate processor ${processor.id}`));
    return known ? [processorOf(processor, contract)] : [];
  });
  const boundaryOf = new Map(processors.map((processor) => [processor.id, processor.boundary]));
  const routes = value.routes.map((route) => routeOf(route, boundaryOf.get(route.processor) === 'remote'));
  const keys = routes.map(keyOf);
  keys.forEach((key, index) => {
    if (keys.indexOf(key) !== index)
      faults.push(file.at(`/routes/${index}`, 'this task and binding have a route already'));
  });
  if (faults.length > 0) throw new YamlError(faults);
  const upstreamHistory = value.history?.adapter === 'upstream-http' ? value.history : null;
  return { value: { upstreamHistory, processors, routes }, at: file.at };
}

function keyOf(route: RouteSettings): string {
  return JSON.stringify([route.task.id, route.task.revision, route.binding.id, route.binding.revision]);
}

function processorOf(text: ProcessorText, contract: typeof forecastContractId): ProcessorSettings {
  return {
    ...text,
    contract,
    requires_artifact: text.requires_artifact ?? false,
    max_clock_skew_ms: text.max_clock_skew_ms ?? defaultClockSkewMs,
    bearer_token_env: text.bearer_token_env ?? null,
  };
}

function routeOf(text: RouteText, remote: boolean): RouteSettings {
  return {
    ...text,
    remote_preapproved: text.remote_preapproved ?? false,
    confirmation: text.confirmation ?? (remote ? 'required' : 'never'),
    egress_source_ref: text.egress_source_ref ?? false,
    keep_results: text.keep_results ?? false,
    schedule: text.schedule ?? null,
  };
}
