/** The wire of kept results and their scores [data-processing §8]. */
import type { Static } from 'typebox';
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';
import { decimal, pageText } from './decimal.ts';
import { mapOf } from './map-schema.ts';
import { namedListOf } from './page.ts';
import { derivedDataSchema, digestSchema, identifierSchema, timestampSchema } from './processing.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const number = nullable(Type.Number());
const count = Type.Integer({ minimum: 0 });
const status = Type.Enum(['produced', 'fallback', 'unavailable']);

export const resultPageSize = 50;

const about = { task: identifierSchema, binding: identifierSchema };
const span = { from: Type.Optional(timestampSchema), to: Type.Optional(timestampSchema) };

export const resultsQuerySchema = strict({
  ...about,
  ...span,
  page: Type.Optional(pageText),
});
export type ResultsQuery = Static<typeof resultsQuerySchema>;

const entrySchema = strict({
  result_id: Type.String(),
  status,
  as_of: timestampSchema,
  kept_at: timestampSchema,
  /** The first and the last label of the horizon. */
  first: timestampSchema,
  last: timestampSchema,
  /** Of an unavailable result only: why. */
  reason_code: nullable(Type.String()),
});
export type ResultEntry = Static<typeof entrySchema>;

export const resultListSchema = namedListOf(entrySchema, { schema: Type.Literal('svc.data-processing.results.v1') });
export type ResultList = Static<typeof resultListSchema>;

export const resultParamsSchema = strict({
  result_id: Type.String({ pattern: '^[0-9a-f-]{36}$', description: 'the id of a stored result' }),
});
/** Most labels before the horizon that one answer joins. */
export const labelsBeforeMax = 2000;
export const resultQuerySchema = strict({
  include: Type.Optional(Type.Literal('actuals')),
  before: Type.Optional(
    decimal(0, labelsBeforeMax, `with include=actuals: how many labels before the horizon, 0 to ${labelsBeforeMax}`),
  ),
});
export type ResultQuery = Static<typeof resultQuerySchema>;
const series = Type.Array(number);

const recordedValue = strict({ timestamp: timestampSchema, value: number });

export const keptResultSchema = strict({
  schema: Type.Literal('svc.data-processing.kept-result.v1'),
  entry: entrySchema,
  /** Null of an unavailable result. */
  derived: nullable(derivedDataSchema),
  frame_digest: digestSchema,
  /** One number a point; null where the frame did not hold what the reference needs. */
  references: strict({ persistence: series, same_time_yesterday: series, same_time_last_week: series }),
  /** With `include=actuals`: one a label of the horizon, null where nothing is recorded (yet). */
  actuals: Type.Optional(Type.Array(recordedValue)),
  /** With `before`: as many labels before the horizon, the oldest first. */
  before: Type.Optional(Type.Array(recordedValue)),
});
export type KeptResult = Static<typeof keptResultSchema>;

export const scoresQuerySchema = strict({
  ...about,
  ...span,
  by: Type.Optional(Type.Enum(['none', 'lead', 'hour', 'day'])),
});
export type ScoresQuery = Static<typeof scoresQuerySchema>;
export type ScoreKind = NonNullable<ScoresQuery['by']>;

const groupSchema = strict({
  /** Null, lead in seconds, local hour, or local date, after `by`. */
  key: Type.Union([Type.Null(), Type.Integer(), Type.String()]),
  /** Scored points. */
  n: count,
  produced: count,
  fallback: count,
  unavailable: count,
  mae: number,
  /** Forecast less actual. */
  bias: number,
  rmse: number,
  pinball: number,
  coverage: mapOf(Type.Number()),
  pit: nullable(Type.Array(Type.Number())),
  skill: strict({ persistence: number, same_time_yesterday: number, same_time_last_week: number }),
  /** 90% of the mean absolute error, over days drawn again; null for a single day. */
  interval: nullable(strict({ low: Type.Number(), high: Type.Number() })),
});
export type ScoreGroup = Static<typeof groupSchema>;

export const scoresSchema = strict({
  schema: Type.Literal('svc.data-processing.scores.v1'),
  task: identifierSchema,
  binding: identifierSchema,
  unit: Type.String(),
  from: timestampSchema,
  to: timestampSchema,
  by: Type.Enum(['none', 'lead', 'hour', 'day']),
  groups: Type.Array(groupSchema),
});
export type Scores = Static<typeof scoresSchema>;
