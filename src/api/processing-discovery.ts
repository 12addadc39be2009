/** The discovery document of area C [data-processing §5.2]. */
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import {
  digestSchema,
  featureNameSchema,
  identifierSchema,
  processorsHealthSchemaId,
  revisionSchema,
  taskListSchemaId,
  timestampSchema,
  unitSchema,
} from './processing.ts';

const optional = Type.Optional;
const count = Type.Integer({ minimum: 0 });
const aggregation = Type.Enum(['mean', 'sum', 'min', 'max', 'last']);
const duplicatePolicy = Type.Enum(['latest', 'reject']);
const revisioned = strict({ id: identifierSchema, revision: revisionSchema });

const featureSchema = strict({
  name: featureNameSchema,
  role: Type.Enum(['history', 'future_covariate', 'static']),
  value_type: Type.Enum(['number', 'string', 'boolean']),
  /** Of number features only. */
  unit: optional(unitSchema),
  integer: Type.Boolean(),
});

const forecastSchema = strict({
  target: strict({ name: featureNameSchema, unit: unitSchema, sign_convention: Type.String() }),
  cadence_ms: count,
  history_aggregation: aggregation,
  history_duplicate_policy: duplicatePolicy,
  history_feature_policies: Type.Array(
    strict({ feature: featureNameSchema, aggregation, duplicate_policy: duplicatePolicy }),
  ),
  history_steps: count,
  max_horizon_steps: count,
  max_quantiles: count,
  max_output_age_ms: count,
  max_missing_ratio: Type.Number({ minimum: 0, maximum: 1 }),
  max_input_age_ms: count,
  max_gap_ms: count,
  require_future_issue_time: Type.Boolean(),
  allowed_fallbacks: Type.Array(identifierSchema),
  fallback_policies: Type.Array(
    strict({
      strategy: identifierSchema,
      version: identifierSchema,
      source_feature: featureNameSchema,
      max_output_age_ms: count,
    }),
  ),
});

export const taskDiscoveryEntrySchema = strict({
  task: revisioned,
  binding: revisioned,
  kind: identifierSchema,
  processor_contract: identifierSchema,
  features: Type.Array(featureSchema),
  forecast: forecastSchema,
  /** Absent when the binding names no artifact. */
  artifact: optional(
    strict({
      kind: identifierSchema,
      family: identifierSchema,
      version: optional(identifierSchema),
      digest: optional(digestSchema),
    }),
  ),
  processor_id: identifierSchema,
  processor_version: identifierSchema,
  data_boundary: Type.Enum(['local', 'remote']),
  deadline_ms: count,
  audit_finalization_timeout_ms: count,
  max_concurrency: count,
  /** Equal to the route configuration's `max_frame_cells`. */
  max_frame_samples: count,
  max_request_bytes: count,
});
export type TaskDiscoveryEntry = Static<typeof taskDiscoveryEntrySchema>;

export const taskListSchema = strict({
  schema: Type.Literal(taskListSchemaId),
  tasks: Type.Array(taskDiscoveryEntrySchema),
});
export type TaskList = Static<typeof taskListSchema>;

const processorHealthEntrySchema = strict({
  processor_id: identifierSchema,
  health: Type.Enum(['healthy', 'degraded', 'unavailable']),
  checked_at: timestampSchema,
  latency_ms: optional(Type.Number({ minimum: 0 })),
  tasks: Type.Array(identifierSchema),
});
export type ProcessorHealthEntry = Static<typeof processorHealthEntrySchema>;

export const processorsHealthSchema = strict({
  schema: Type.Literal(processorsHealthSchemaId),
  processors: Type.Array(processorHealthEntrySchema),
});
export type ProcessorsHealth = Static<typeof processorsHealthSchema>;
