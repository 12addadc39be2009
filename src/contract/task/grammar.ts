/** The grammar of `tasks/*.yaml` [data-processing §2.2]: other keys are refused. */

import Type, { type Static } from 'typebox';
import {
  featureNameSchema,
  forecastContractId,
  identifierSchema,
  revisionSchema,
  taskSchemaId,
  unitSchema,
  wireLimits,
} from '../../api/processing.ts';
import { strict } from '../../base/schema.ts';
import {
  aggregationSchema,
  duplicatePolicySchema,
  optional,
  secondsSchema,
  wholeSchema,
  wordSchema,
  words,
} from '../lexical.ts';
import { substitutionMethods } from '../missing.ts';

const rangeSchema = strict({
  minimum: optional(Type.Number()),
  maximum: optional(Type.Number()),
  exclusive_minimum: optional(Type.Number()),
  exclusive_maximum: optional(Type.Number()),
  integer: optional(Type.Boolean()),
});

const sourceSchema = Type.Union([
  strict({ kind: Type.Literal('measurement'), instance_ref: wordSchema, point_ref: wordSchema }),
  strict({ kind: Type.Literal('covariate'), dataset_ref: wordSchema, field: wordSchema }),
  strict({ kind: Type.Literal('calendar'), transform: wordSchema }),
]);

const inputSchema = strict({
  name: featureNameSchema,
  value_type: optional(words('number', 'string', 'boolean')),
  unit: optional(unitSchema),
  source: sourceSchema,
  range: optional(rangeSchema),
  out_of_range: optional(words('reject', 'missing')),
});

const missingPolicySchema = Type.Union([
  words('reject', 'allow'),
  strict({
    method: words(...substitutionMethods),
    max_cells: optional(wholeSchema(1, wireLimits.timestampsMax)),
  }),
]);

const fallbackSchema = strict({
  strategy: words('persistence', 'seasonal-naive', 'historical-average'),
  version: Type.Literal('1'),
  source_feature: featureNameSchema,
  season_seconds: optional(secondsSchema),
  weeks: optional(wholeSchema(1, 520)),
  max_output_age_seconds: secondsSchema,
});

export const taskGrammar = strict({
  schema: Type.Literal(taskSchemaId),
  id: identifierSchema,
  revision: revisionSchema,
  kind: Type.Literal('forecast'),
  processor_contract: Type.Literal(forecastContractId),
  description: optional(Type.String({ maxLength: 2000 })),
  target: strict({
    name: featureNameSchema,
    semantic_point: wordSchema,
    unit: unitSchema,
    sign_convention: wordSchema,
  }),
  frame: strict({
    cadence_seconds: wholeSchema(1, wireLimits.cadenceSecondsMax),
    history_steps: wholeSchema(1, wireLimits.timestampsMax),
    horizon_steps: wholeSchema(1, wireLimits.horizonStepsMax),
    timezone: wordSchema,
    live_tail: optional(words('forbidden', 'allowed')),
    settle_seconds: optional(wholeSchema(0, 315_360_000)),
  }),
  inputs: strict({
    history: Type.Array(inputSchema, { minItems: 1, maxItems: wireLimits.featuresMax }),
    future_covariates: optional(Type.Array(inputSchema, { maxItems: wireLimits.featuresMax })),
    // In the grammar so that its refusal says why: configuration cannot bind static values [data-processing §2.2].
    static_features: optional(Type.Array(Type.Object({}))),
  }),
  alignment: strict({
    aggregation: aggregationSchema,
    timestamp_semantics: Type.Literal('interval_end'),
    duplicate_policy: duplicatePolicySchema,
    feature_policies: optional(
      Type.Array(
        strict({ name: featureNameSchema, aggregation: aggregationSchema, duplicate_policy: duplicatePolicySchema }),
        { maxItems: 2 * wireLimits.featuresMax },
      ),
    ),
    missing_policy: missingPolicySchema,
  }),
  quality: strict({
    max_input_age_seconds: secondsSchema,
    max_issue_age_seconds: optional(secondsSchema),
    max_gap_seconds: secondsSchema,
    max_missing_ratio: Type.Number({ minimum: 0, maximum: 1 }),
    max_source_skew_seconds: optional(wholeSchema(0, 315_360_000)),
    require_input_watermark: Type.Boolean(),
    require_covariate_issue_time_not_after_as_of: Type.Boolean(),
  }),
  output: strict({
    unit: unitSchema,
    sign_convention: wordSchema,
    minimum: optional(Type.Number()),
    maximum: optional(Type.Number()),
    max_quantiles: wholeSchema(0, wireLimits.quantilesMax),
    expires_after_seconds: secondsSchema,
    median_equals_value: optional(Type.Boolean()),
    zero_is_baseline: optional(Type.Boolean()),
  }),
  egress: optional(strict({ remote_allowed: Type.Boolean() })),
  fallbacks: optional(Type.Array(fallbackSchema, { maxItems: 3 })),
});

export type TaskText = Static<typeof taskGrammar>;
export type InputText = Static<typeof inputSchema>;
