/**
 * A process call from its route to derived data [data-processing §4.1]. Step 1 belongs to the pipeline and
 * `resolveCall`; the others are the lines of `processTask`. It reads, and writes only audit records and stored
 * results: live state, history and commands cannot be reached from here.
 */
import type { CallAudit } from '../api/capability.ts';
import type { DerivedData, NormalisedFrame } from '../api/processing.ts';
import { egressAction } from '../api/processing-capabilities.ts';
import type { Clock } from '../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../base/deadline.ts';
import { Fault } from '../base/fault.ts';
import { newId } from '../base/id.ts';
import type { Log } from '../base/log.ts';
import { formatTimestamp } from '../base/timestamp.ts';
import { inputDigest } from '../contract/wire/digest.ts';
import type { NormalisedRequest } from '../contract/wire/request-decode.ts';
import type { ProcessCall } from './call.ts';
import { askProcessor, refusalOf } from './derived/ask-processor.ts';
import { type AssemblySources, assembleFrame } from './frame/assemble.ts';
import { qualityRefusal } from './frame/reason.ts';
import type { Processor } from './processor/processor.ts';
import type { KeepResult } from './results/keep.ts';
import type { RouteSlots } from './slots.ts';

export interface ProcessParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly slots: RouteSlots;
  readonly sources: Omit<AssemblySources, 'live'>;
  /** One moment of live state, taken now. */
  live(): AssemblySources['live'];
  processor(id: string): Processor;
  readonly keep: KeepResult;
}

const uuidPattern = /^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$/;

/** Throws the Fault for the caller. */
export async function processTask(call: ProcessCall, parts: ProcessParts, audit: CallAudit): Promise<DerivedData> {
  const { clock } = parts;
  const { route } = call;
  const release = parts.slots.take(route);
  const spentMs = (): number => clock.monotonicMs() - call.arrivedMonotonicMs;
  const limit = deadline(clock, Math.max(0, route.route.deadline_ms - spentMs()));
  try {
    // Steps 2 to 8: a complete frame, or every violated rule.
    const frame = await completeFrame(call, parts, limit.signal);
    const request = requestOf(call, frame);
    audit.note({ input_digest: request.input_digest });
    // Steps 9 and 10: untrusted bytes are accepted as a whole or not at all.
    const question = { request, declaration: route.task, route: resultRoute(call) };
    const { callerId } = call;
    const processor = parts.processor(route.processor.id);
    const asking = { question, callerId, leaving: () => recordEgress(call, request, audit) };
    const processed = await askProcessor(processor, asking, { clock, signal: limit.signal });
    const kept = await parts.keep(call, frame, request.input_digest, processed);
    if (kept !== null) audit.note({ kept });
    if (processed.outcome !== 'derived') throw refusalOf(processed);
    audit.note({ result_id: processed.derived.result_id, status: processed.derived.processing_status });
    return processed.derived;
  } catch (error) {
    noteRefusal(audit, error);
    throw error;
  } finally {
    limit.cancel();
    release();
    audit.note({ duration_ms: Math.round(spentMs()) });
  }
}

async function completeFrame(call: ProcessCall, parts: ProcessParts, signal: AbortSignal): Promise<NormalisedFrame> {
  const sources = { ...parts.sources, live: parts.live() };
  const { plan } = call;
  try {
    const assembled = await untilAborted(assembleFrame({ plan, sources, signal, log: parts.log }), signal);
    if (!assembled.ok) throw qualityRefusal(assembled.reasons);
    return assembled.frame;
  } catch (error) {
    if (error instanceof Fault || !timeIsUp(signal)) throw error;
    throw new Fault('deadline-exceeded', 'the frame was not complete in time', { cause: error });
  }
}

/** The request to a processor: the frame and its correlation; never the subject, its address or its permissions. */
function requestOf(
  { route, options, callerId, arrivedWallMs }: ProcessCall,
  frame: NormalisedFrame,
): NormalisedRequest {
  const { task, binding } = route;
  const basis = {
    task: { id: task.id, revision: task.revision, kind: task.kind },
    binding: { id: binding.id, revision: binding.revision },
    processor_contract: task.processor_contract,
    ...(binding.artifact !== null && { artifact: binding.artifact }),
    frame,
    options,
  };
  return {
    schema: 'svc.data-processing.request.v1',
    // Correlation on the wire is a UUID; a caller's id in another form is not sent.
    request_id: uuidPattern.test(callerId) ? callerId : newId(),
    submitted_at: formatTimestamp(arrivedWallMs),
    deadline: formatTimestamp(arrivedWallMs + route.route.deadline_ms),
    ...basis,
    input_digest: inputDigest(basis),
  };
}

function resultRoute({ route }: ProcessCall) {
  const { id, version, contract, requires_artifact, max_clock_skew_ms } = route.processor;
  return { processor: { id, version, contract }, requires_artifact, max_clock_skew_ms };
}

/** Before a frame leaves the site, and only then: for a call refused here, the terminal record has the reason [data-processing §5.3]. */
async function recordEgress({ route }: ProcessCall, request: NormalisedRequest, audit: CallAudit): Promise<void> {
  if (route.processor.boundary === 'local') return;
  await audit.record(egressAction, {
    processor_id: route.processor.id,
    task: request.task,
    binding: request.binding,
    input_digest: request.input_digest,
  });
}

/** The rule, check or reason, for the terminal record. */
function noteRefusal(audit: CallAudit, error: unknown): void {
  if (!(error instanceof Fault)) return;
  audit.note({ status: error.code, ...(error.details !== undefined && { reason: error.details }) });
}
