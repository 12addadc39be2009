/**
 * A frame from outside [data-processing §3.1], [data-processing §1.3]: shape first, then the normal form of every timestamp.
 * Whether the values are consistent is checked in validate/frame.ts.
 */
import Type, { type TSchema } from 'typebox';
import {
  booleanSeriesSchema,
  booleanStaticSchema,
  featureNamePattern,
  type NormalisedFrame,
  numberSeriesSchema,
  numberStaticSchema,
  type ProcessingFrame,
  type ProvenanceEntry,
  processingFrameSchema,
  type Segment,
  stringSeriesSchema,
  stringStaticSchema,
  wireLimits,
} from '../../api/processing.ts';
import { isObject } from '../../base/json.ts';
import { bad, below, good, step, unknownMember, type Wire, type WireIssue } from './issue.ts';
import { NormalTimes } from './normal-times.ts';
import { shape } from './shape.ts';

const named = (limits: { readonly minProperties?: number; readonly maxProperties: number }) =>
  Type.Record(Type.String({ pattern: '' }), Type.Object({}), limits);
const { timestamps } = processingFrameSchema.properties.history.properties;
const segmentShell = Type.Object(
  { timestamps, features: named({ minProperties: 1, maxProperties: wireLimits.featuresMax }) },
  { additionalProperties: false },
);
/** The frame around its features; each feature is then checked against the schema of its own value type. */
const frameShell = shape(
  Type.Object(
    {
      ...processingFrameSchema.properties,
      history: segmentShell,
      future_covariates: Type.Optional(segmentShell),
      static_features: Type.Optional(named({ maxProperties: wireLimits.staticFeaturesMax })),
    },
    { additionalProperties: false },
  ),
);
const seriesShapes = byValueType(numberSeriesSchema, stringSeriesSchema, booleanSeriesSchema);
const staticShapes = byValueType(numberStaticSchema, stringStaticSchema, booleanStaticSchema);
const featureName = new RegExp(featureNamePattern, 'u');

/** The normalised frame, or its first error; unknown members are reported before anything else. */
export function decodeFrame(value: unknown): Wire<NormalisedFrame> {
  const shell = frameShell(value);
  if (!shell.ok && shell.issue.rule === unknownMember) return shell;
  const issues = shell.ok ? [] : [shell.issue];
  issues.push(...featureIssues(value));
  const issue = issues.find((each) => each.rule === unknownMember) ?? issues[0];
  if (issue !== undefined) return { ok: false, issue };
  // The shell and every feature were checked; together they cover the whole schema (a test compares).
  return normalise(value as ProcessingFrame);
}

function featureIssues(frame: unknown): WireIssue[] {
  return [
    ...groupIssues(member(member(frame, 'history'), 'features'), '/history/features', seriesShapes),
    ...groupIssues(member(member(frame, 'future_covariates'), 'features'), '/future_covariates/features', seriesShapes),
    ...groupIssues(member(frame, 'static_features'), '/static_features', staticShapes),
  ];
}

function groupIssues(features: unknown, path: string, shapes: ReturnType<typeof byValueType>): WireIssue[] {
  if (!isObject(features)) return [];
  return Object.entries(features).flatMap(([name, feature]) => {
    if (!featureName.test(name)) return [{ path, rule: 'name' }];
    const decoded = shapes(feature);
    return decoded.ok ? [] : [below(path + step(name), decoded.issue)];
  });
}

function byValueType(number: TSchema, string: TSchema, boolean: TSchema): (value: unknown) => Wire<unknown> {
  const shapes = new Map<unknown, (value: unknown) => Wire<unknown>>([
    ['number', shape(number)],
    ['string', shape(string)],
    ['boolean', shape(boolean)],
  ]);
  return (value) => {
    const type = member(value, 'value_type');
    const decode = shapes.get(type);
    if (decode === undefined) return bad('/value_type', 'value');
    // A unit is a known member that must be absent here: a fault of the frame, not an unknown member.
    return type !== 'number' && member(value, 'unit') !== undefined ? bad('/unit', 'forbidden') : decode(value);
  };
}

function normalise(frame: ProcessingFrame): Wire<NormalisedFrame> {
  const times = new NormalTimes();
  const { history, future_covariates, static_features = {}, quality, provenance } = frame;
  const normalised: NormalisedFrame = {
    ...frame,
    as_of: times.normal(frame.as_of, '/as_of'),
    history: normalSegment(history, '/history', times),
    ...(future_covariates && { future_covariates: normalSegment(future_covariates, '/future_covariates', times) }),
    static_features: static_features,
    quality: { ...quality, input_watermark: times.normal(quality.input_watermark, '/quality/input_watermark') },
    provenance: provenance.map((entry, index) => normalEntry(entry, `/provenance/${index}`, times)),
  };
  return times.issue === null ? good(normalised) : { ok: false, issue: times.issue };
}

function normalSegment(segment: Segment, path: string, times: NormalTimes): Segment {
  return {
    timestamps: segment.timestamps.map((text, index) => times.normal(text, `${path}/timestamps/${index}`)),
    features: segment.features,
  };
}

function normalEntry(entry: ProvenanceEntry, path: string, times: NormalTimes): ProvenanceEntry {
  return {
    ...entry,
    watermark: times.normal(entry.watermark, `${path}/watermark`),
    ...(entry.issued_at !== undefined && { issued_at: times.normal(entry.issued_at, `${path}/issued_at`) }),
  };
}

function member(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
