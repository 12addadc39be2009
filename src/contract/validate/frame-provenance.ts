/** Provenance [data-processing §3.5]: exactly one entry per feature. */
import type { NormalisedFrame, ProvenanceEntry } from '../../api/processing.ts';
import { policyOf, type TaskDeclaration } from '../task/declaration.ts';
import { timeMs } from '../wire/normal-times.ts';
import { type FrameFault, invalid } from './frame-fault.ts';

type Segment = ProvenanceEntry['segment'];
type SourceKind = ProvenanceEntry['source_kind'];

const kindsOf: Readonly<Record<Segment, readonly SourceKind[]>> = {
  history: ['history', 'live', 'history_and_live', 'calendar'],
  // `history` is a covariate's fallback to recorded values.
  future_covariates: ['covariate', 'calendar', 'history'],
  static_features: ['constant'],
};

export function checkProvenance(frame: NormalisedFrame, task: TaskDeclaration): FrameFault | null {
  const asOfMs = timeMs(frame.as_of);
  const expected = expectedKeys(frame);
  const seen = new Set<string>();
  for (const [index, entry] of frame.provenance.entries()) {
    const path = `/provenance/${index}`;
    const key = keyOf(entry.segment, entry.feature);
    if (!expected.has(key)) return invalid(path, 'absent_feature');
    if (seen.has(key)) return invalid(path, 'duplicate_entry');
    seen.add(key);
    const fault = checkEntry(entry, path, asOfMs) ?? checkKind(entry, path, task);
    if (fault !== null) return fault;
  }
  if (seen.size < expected.size) return invalid('/provenance', 'missing_entry');
  return checkWatermark(frame, asOfMs);
}

function expectedKeys(frame: NormalisedFrame): Set<string> {
  const names = (segment: Segment, features: object = {}): string[] =>
    Object.keys(features).map((feature) => keyOf(segment, feature));
  return new Set([
    ...names('history', frame.history.features),
    ...names('future_covariates', frame.future_covariates?.features),
    ...names('static_features', frame.static_features),
  ]);
}

/** Segment names contain no slash, so the key is unambiguous. */
function keyOf(segment: Segment, feature: string): string {
  return `${segment}/${feature}`;
}

/** `issued_at <= watermark <= as_of`; covariates carry an issue time, nothing else does. */
function checkEntry(entry: ProvenanceEntry, path: string, asOfMs: number): FrameFault | null {
  const { source_kind: kind, issued_at: issuedAt } = entry;
  if (!kindsOf[entry.segment].includes(kind)) return invalid(`${path}/source_kind`, 'source_kind');
  const watermarkMs = timeMs(entry.watermark);
  if (watermarkMs > asOfMs) return invalid(`${path}/watermark`, 'not_after_as_of');
  if (kind === 'covariate' && issuedAt === undefined) return invalid(`${path}/issued_at`, 'required');
  if (kind !== 'covariate' && issuedAt !== undefined) return invalid(`${path}/issued_at`, 'forbidden');
  if (issuedAt !== undefined && timeMs(issuedAt) > watermarkMs)
    return invalid(`${path}/issued_at`, 'not_after_watermark');
  return null;
}

/** Calendar features, and only they, come from the calendar; a live tail only where the task allows it. */
function checkKind(entry: ProvenanceEntry, path: string, task: TaskDeclaration): FrameFault | null {
  if (entry.segment === 'static_features') return null;
  const input = task.inputs[entry.segment].find((each) => each.name === entry.feature);
  if ((input?.source.kind === 'calendar') !== (entry.source_kind === 'calendar'))
    return invalid(`${path}/source_kind`, 'source_kind');
  const live = entry.source_kind === 'live' || entry.source_kind === 'history_and_live';
  const allowed = task.frame.live_tail === 'allowed' && policyOf(task, entry.feature).aggregation === 'last';
  if (live && (!allowed || input?.source.kind !== 'measurement')) return invalid(`${path}/source_kind`, 'live_tail');
  return null;
}

/** The aggregate watermark is the newest observation; calendar features and constants do not count. */
function checkWatermark(frame: NormalisedFrame, asOfMs: number): FrameFault | null {
  const statedMs = timeMs(frame.quality.input_watermark);
  if (statedMs > asOfMs) return invalid('/quality/input_watermark', 'not_after_as_of');
  const observed = frame.provenance.filter(({ source_kind: kind }) => kind !== 'calendar' && kind !== 'constant');
  const newestMs = Math.max(...observed.map((entry) => timeMs(entry.watermark)));
  // A task with calendar features only observes nothing that the stated watermark could be compared with.
  if (observed.length > 0 && statedMs !== newestMs) return invalid('/quality/input_watermark', 'newest_watermark');
  return null;
}
