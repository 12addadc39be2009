/**
 * The wire of area C [data-processing §1.3] as schemas, and the types derived from them. Rules beyond a schema (real dates, exact
 * grids, sums that agree) are checked where the message is used.
 */
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { mapOf } from './map-schema.ts';

const words = <W extends string[]>(...values: W): Type.TEnum<W> => Type.Enum<W>([...values]);
/** A member that may be absent, and is never null. */
const optional = Type.Optional;

export const taskSchemaId = 'svc.data-processing-task.v1';
const processTaskRequestSchemaId = 'svc.data-processing.process-task-request.v1';
export const frameSchemaId = 'svc.processing-frame.v1';
export const requestSchemaId = 'svc.data-processing.request.v1';
export const resultSchemaId = 'svc.data-processing.result.v1';
export const forecastOutputSchemaId = 'svc.data-processing.output.forecast.v1';
export const derivedDataSchemaId = 'svc.derived-data.v1';
export const errorSchemaId = 'svc.data-processing.error.v1';
export const forecastContractId = 'svc.data-processing.forecast.v1';
export const taskListSchemaId = 'svc.data-processing.tasks.v1';
export const processorsHealthSchemaId = 'svc.data-processing.processors-health.v1';
/** Of both processor-facing routes, in both directions [processor §1]. */
export const processorMediaType = 'application/vnd.svc.data-processing+json;version=1';

/** Collection limits of [data-processing §1.4]; counts unless a unit is in the name. */
export const wireLimits = {
  identifierCharsMax: 256,
  nameCharsMax: 128,
  unitCharsMax: 64,
  codeCharsMax: 128,
  messageCharsMax: 1024,
  timestampsMax: 20_000,
  featuresMax: 128,
  staticFeaturesMax: 128,
  provenanceMax: 512,
  warningsMax: 64,
  /** Of a result's `details`, as JSON in UTF-8. */
  detailsBytesMax: 16_384,
  pointsMax: 4096,
  quantilesMax: 99,
  cadenceSecondsMax: 86_400,
  horizonStepsMax: 4096,
  revisionMax: 4_294_967_295,
} as const;

export const identifierSchema = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,255}$',
  description: '1 to 256 letters, digits and . _ : -, the first a letter or digit',
});
/** Feature names and targets: no control characters. */
export const featureNamePattern = '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,128}$';
export const featureNameSchema = Type.String({
  pattern: featureNamePattern,
  description: '1 to 128 characters, none a control character',
});
export const unitSchema = Type.String({ minLength: 1, maxLength: wireLimits.unitCharsMax });
export const sourceRefSchema = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,2047}$',
  description: '1 to 2048 letters, digits and . _ -, the first a letter or digit',
});
const codeSchema = Type.String({ pattern: '^[A-Z][A-Z0-9_]*$', maxLength: wireLimits.codeCharsMax });
export const revisionSchema = Type.Integer({ minimum: 1, maximum: wireLimits.revisionMax });
export const digestSchema = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });
/** A pattern for every timestamp; that the day exists is checked when the text becomes a time. */
export const timestampSchema = Type.String({
  pattern:
    '^(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?Z$',
  description: 'a time in UTC as YYYY-MM-DDTHH:MM:SSZ',
});
/** UUID in any case, on the processor wire [processor §2]. */
const uuidSchema = Type.String({ pattern: '^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' });
/** The caller's `x-request-id`. */
const requestIdSchema = Type.String({ pattern: '^[A-Za-z0-9._:-]{1,128}$' });
const cadenceSchema = Type.Integer({ minimum: 1, maximum: wireLimits.cadenceSecondsMax });
const wordSchema = Type.String({ minLength: 1, maxLength: wireLimits.identifierCharsMax });

/* ---- frame ---- */

const sampleQualitySchema = words('good', 'uncertain', 'substituted', 'missing');
export type SampleQuality = Static<typeof sampleQualitySchema>;

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const qualities = Type.Array(sampleQualitySchema, { minItems: 1, maxItems: wireLimits.timestampsMax });
const samples = <T extends Type.TSchema>(schema: T) =>
  Type.Array(nullable(schema), { minItems: 1, maxItems: wireLimits.timestampsMax });

export const numberSeriesSchema = strict({
  value_type: Type.Literal('number'),
  unit: unitSchema,
  values: samples(Type.Number()),
  quality: qualities,
});
/** String and boolean series carry no unit. */
export const stringSeriesSchema = strict({
  value_type: Type.Literal('string'),
  values: samples(Type.String({ maxLength: wireLimits.identifierCharsMax })),
  quality: qualities,
});
export const booleanSeriesSchema = strict({
  value_type: Type.Literal('boolean'),
  values: samples(Type.Boolean()),
  quality: qualities,
});
const seriesSchema = Type.Union([numberSeriesSchema, stringSeriesSchema, booleanSeriesSchema]);
export type Series = Static<typeof seriesSchema>;

const segmentSchema = strict({
  timestamps: Type.Array(timestampSchema, { minItems: 1, maxItems: wireLimits.timestampsMax }),
  features: mapOf(seriesSchema, {
    pattern: featureNamePattern,
    additionalProperties: false,
    minProperties: 1,
    maxProperties: wireLimits.featuresMax,
  }),
});
/** `history` and `future_covariates` share it. */
export type Segment = Static<typeof segmentSchema>;

export const numberStaticSchema = strict({
  value_type: Type.Literal('number'),
  unit: unitSchema,
  value: nullable(Type.Number()),
  quality: sampleQualitySchema,
});
export const stringStaticSchema = strict({
  value_type: Type.Literal('string'),
  value: nullable(Type.String({ maxLength: wireLimits.identifierCharsMax })),
  quality: sampleQualitySchema,
});
export const booleanStaticSchema = strict({
  value_type: Type.Literal('boolean'),
  value: nullable(Type.Boolean()),
  quality: sampleQualitySchema,
});
const staticFeatureSchema = Type.Union([numberStaticSchema, stringStaticSchema, booleanStaticSchema]);
type StaticFeature = Static<typeof staticFeatureSchema>;

const aggregateQualitySchema = strict({
  input_watermark: timestampSchema,
  missing_ratio: Type.Number({ minimum: 0, maximum: 1 }),
  max_gap_seconds: Type.Integer({ minimum: 0 }),
  live_tail_included: Type.Boolean(),
  substituted_samples: Type.Integer({ minimum: 0 }),
});
export type AggregateQuality = Static<typeof aggregateQualitySchema>;

const provenanceEntrySchema = strict({
  segment: words('history', 'future_covariates', 'static_features'),
  feature: featureNameSchema,
  source_kind: words('history', 'live', 'history_and_live', 'covariate', 'calendar', 'constant'),
  source_ref: optional(sourceRefSchema),
  watermark: timestampSchema,
  issued_at: optional(timestampSchema),
});
export type ProvenanceEntry = Static<typeof provenanceEntrySchema>;

export const processingFrameSchema = strict({
  schema: Type.Literal(frameSchemaId),
  as_of: timestampSchema,
  cadence_seconds: cadenceSchema,
  history: segmentSchema,
  future_covariates: optional(segmentSchema),
  static_features: optional(
    mapOf(staticFeatureSchema, {
      pattern: featureNamePattern,
      additionalProperties: false,
      maxProperties: wireLimits.staticFeaturesMax,
    }),
  ),
  quality: aggregateQualitySchema,
  provenance: Type.Array(provenanceEntrySchema, { minItems: 1, maxItems: wireLimits.provenanceMax }),
});
/** As it may arrive; what the service builds and hashes is a `NormalisedFrame`. */
export type ProcessingFrame = Static<typeof processingFrameSchema>;
/** Timestamps in their one spelling, `static_features` always there [data-processing §3.6]. */
export type NormalisedFrame = ProcessingFrame & { readonly static_features: Record<string, StaticFeature> };

/* ---- requests ---- */

export const forecastOptionsSchema = strict({
  kind: Type.Literal('forecast'),
  horizon_steps: Type.Integer({ minimum: 1, maximum: wireLimits.horizonStepsMax }),
  quantiles: optional(
    Type.Array(Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 }), {
      minItems: 1,
      maxItems: wireLimits.quantilesMax,
    }),
  ),
});
export type ForecastOptions = Static<typeof forecastOptionsSchema>;

/** The body of `POST /api/v1/data-processing/process`. */
export const processTaskRequestSchema = strict({
  schema: optional(Type.Literal(processTaskRequestSchemaId)),
  task_id: identifierSchema,
  expected_task_revision: revisionSchema,
  binding_id: identifierSchema,
  expected_binding_revision: revisionSchema,
  as_of: timestampSchema,
  options: forecastOptionsSchema,
});
export type ProcessTaskRequest = Static<typeof processTaskRequestSchema>;

const taskRefSchema = strict({ id: identifierSchema, revision: revisionSchema, kind: identifierSchema });
const bindingRefSchema = strict({ id: identifierSchema, revision: revisionSchema });
export type TaskRef = Static<typeof taskRefSchema>;
export type BindingRef = Static<typeof bindingRefSchema>;

/** In a request a selector: version and digest pin it when they are there. */
const artifactRefSchema = strict({
  kind: identifierSchema,
  family: identifierSchema,
  version: optional(identifierSchema),
  artifact_digest: optional(digestSchema),
});
export type ArtifactRef = Static<typeof artifactRefSchema>;

/** In a result all four: the artifact that was really used. */
const usedArtifactSchema = strict({
  kind: identifierSchema,
  family: identifierSchema,
  version: identifierSchema,
  artifact_digest: digestSchema,
});
export type UsedArtifact = Static<typeof usedArtifactSchema>;

const requestMembers = {
  schema: Type.Literal(requestSchemaId),
  request_id: uuidSchema,
  submitted_at: timestampSchema,
  deadline: timestampSchema,
  task: taskRefSchema,
  binding: bindingRefSchema,
  processor_contract: identifierSchema,
  artifact: optional(artifactRefSchema),
  input_digest: digestSchema,
};
/** The request around its frame and options, which have faults of their own [processor §5]. */
export const requestEnvelopeSchema = strict({
  ...requestMembers,
  frame: Type.Object({}),
  options: Type.Object({}),
});
/** The body of the processor-facing `POST /v1/process`. */
export const dataProcessingRequestSchema = strict({
  ...requestMembers,
  frame: processingFrameSchema,
  options: forecastOptionsSchema,
});
export type DataProcessingRequest = Static<typeof dataProcessingRequestSchema>;

/* ---- results ---- */

const quantileSchema = strict({
  probability: Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 }),
  value: Type.Number(),
});

const forecastPointSchema = strict({
  timestamp: timestampSchema,
  value: Type.Number(),
  quantiles: optional(Type.Array(quantileSchema, { minItems: 1, maxItems: wireLimits.quantilesMax })),
});
export type ForecastPoint = Static<typeof forecastPointSchema>;

export const forecastOutputSchema = strict({
  schema: Type.Literal(forecastOutputSchemaId),
  kind: Type.Literal('forecast'),
  target: featureNameSchema,
  unit: unitSchema,
  sign_convention: wordSchema,
  cadence_seconds: cadenceSchema,
  timestamp_semantics: Type.Literal('interval_end'),
  points: Type.Array(forecastPointSchema, { minItems: 1, maxItems: wireLimits.pointsMax }),
});
export type ForecastOutput = Static<typeof forecastOutputSchema>;

const fallbackBlockSchema = strict({
  strategy: identifierSchema,
  strategy_version: identifierSchema,
  reason_code: codeSchema,
  source_feature: featureNameSchema,
  based_on_data_through: timestampSchema,
});
export type FallbackBlock = Static<typeof fallbackBlockSchema>;

const unavailableBlockSchema = strict({
  reason_code: codeSchema,
  retryable: Type.Boolean(),
  retry_after_seconds: optional(Type.Integer({ minimum: 0 })),
});
export type UnavailableBlock = Static<typeof unavailableBlockSchema>;

const processorRefSchema = strict({ id: identifierSchema, version: identifierSchema, contract: identifierSchema });
export type ProcessorRef = Static<typeof processorRefSchema>;

/** A processor's own details about its answer: untrusted, shown as text and never acted on. */
const detailsSchema = Type.Object({});

const resultMembers = {
  schema: Type.Literal(resultSchemaId),
  request_id: uuidSchema,
  task: taskRefSchema,
  binding: bindingRefSchema,
  input_digest: digestSchema,
  issued_at: timestampSchema,
  input_watermark: timestampSchema,
  processor: processorRefSchema,
  artifact: optional(usedArtifactSchema),
  warnings: Type.Array(codeSchema, { maxItems: wireLimits.warningsMax, uniqueItems: true }),
  details: optional(detailsSchema),
};
export const producedResultSchema = strict({
  ...resultMembers,
  status: Type.Literal('produced'),
  expires_at: timestampSchema,
  output: forecastOutputSchema,
});
export const fallbackResultSchema = strict({
  ...resultMembers,
  status: Type.Literal('fallback'),
  expires_at: timestampSchema,
  output: forecastOutputSchema,
  fallback: fallbackBlockSchema,
});
export const unavailableResultSchema = strict({
  ...resultMembers,
  status: Type.Literal('unavailable'),
  unavailable: unavailableBlockSchema,
});
export const processingResultSchema = Type.Union([producedResultSchema, fallbackResultSchema, unavailableResultSchema]);
export type ProducedResult = Static<typeof producedResultSchema>;
export type FallbackResult = Static<typeof fallbackResultSchema>;
export type UnavailableResult = Static<typeof unavailableResultSchema>;
export type ProcessingResult = Static<typeof processingResultSchema>;

const derivedQualitySchema = strict({
  ...aggregateQualitySchema.properties,
  fallback_used: Type.Boolean(),
});

/** Accepted output, stamped by the service. */
export const derivedDataSchema = strict({
  schema: Type.Literal(derivedDataSchemaId),
  result_id: uuidSchema,
  request_id: requestIdSchema,
  task: taskRefSchema,
  binding: bindingRefSchema,
  accepted_at: timestampSchema,
  expires_at: timestampSchema,
  input_digest: digestSchema,
  processing_status: words('produced', 'fallback'),
  processor: strict({ ...processorRefSchema.properties, details: optional(detailsSchema) }),
  artifact: optional(usedArtifactSchema),
  quality: derivedQualitySchema,
  warnings: resultMembers.warnings,
  fallback: optional(fallbackBlockSchema),
  data: forecastOutputSchema,
});
export type DerivedData = Static<typeof derivedDataSchema>;

/** A non-2xx answer of the processor-facing routes [processor §5]. */
export const processorErrorSchema = strict({
  schema: Type.Literal(errorSchemaId),
  request_id: Type.String({ maxLength: wireLimits.nameCharsMax }),
  code: codeSchema,
  category: Type.String({ pattern: '^[a-z][a-z_]{0,63}$' }),
  message: Type.String({ maxLength: wireLimits.messageCharsMax }),
  retryable: Type.Boolean(),
  details: Type.Object({}),
});
export type ProcessorError = Static<typeof processorErrorSchema>;

/** The answer of the processor-facing `GET /v1/health` [processor §1]. */
export const processorHealthSchema = strict({
  status: words('ok', 'degraded', 'unavailable'),
  processor: identifierSchema,
  version: identifierSchema,
  contract: identifierSchema,
});
export type ProcessorHealth = Static<typeof processorHealthSchema>;
