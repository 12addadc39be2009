/**
 * The protocol of a processor without a socket [processor §4]: a received request becomes the reply to send. Refusals follow the
 * contract's order; an accepted request gets a slot, its deadline and an answer.
 */
import { type ArtifactRef, type ProcessorHealth, type ProcessorRef, processorMediaType } from '../../api/processing.ts';
import type { Clock } from '../../base/clock.ts';
import { deadline, timeIsUp, untilAborted } from '../../base/deadline.ts';
import type { Log } from '../../base/log.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import { bearerFault } from '../../contract/wire/bearer.ts';
import {
  type ProcessorErrorCode,
  processorRefusal,
  type RefusalParticulars,
} from '../../contract/wire/error-envelope.ts';
import { timeMs } from '../../contract/wire/normal-times.ts';
import { type AcceptedRequest, checkRequest, type ReceivedRequest } from '../check-request.ts';
import type { ServerLimits } from './limits.ts';
import { type Findings, resultOf, type Work } from './work.ts';

export interface ServedProcessor {
  readonly processor: ProcessorRef;
  readonly declarations: readonly TaskDeclaration[];
  readonly limits: ServerLimits;
  /** Null: no token is required. */
  readonly bearerToken: string | null;
  readonly clock: Clock;
  readonly log: Log;
  readonly work: Work;
  condition(): ProcessorHealth['status'];
  /** Whether the requested artifact is available. */
  knowsArtifact(artifact: ArtifactRef, declaration: TaskDeclaration): boolean;
}

/** A response: the status, its headers in lower case, and its body, complete. */
export interface ProcessorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface RequestAnswerer {
  process(received: ReceivedRequest, signal: AbortSignal): Promise<ProcessorReply>;
  health(headers: ReceivedRequest['headers']): ProcessorReply;
  /** Requests in progress; one whose work continues after its deadline still counts. */
  readonly working: number;
}

export function requestAnswerer(served: ServedProcessor): RequestAnswerer {
  const { clock, limits, log } = served;
  let working = 0;

  /** The work, whose slot is released when it actually ends, possibly later than its answer. */
  function start(accepted: AcceptedRequest, signal: AbortSignal): Promise<Findings> {
    working++;
    const ended = (): void => void working--;
    // In a separate turn, so that a synchronous throw is a failure like any other.
    const work = Promise.resolve().then(() => served.work(accepted, signal));
    work.then(ended, ended);
    return work;
  }

  async function answer(accepted: AcceptedRequest, signal: AbortSignal): Promise<ProcessorReply> {
    const { request } = accepted;
    const requestId = request.request_id;
    const limit = deadline(clock, timeMs(request.deadline) - clock.wallMs(), signal);
    try {
      const findings = await untilAborted(start(accepted, limit.signal), limit.signal);
      if (clock.wallMs() >= timeMs(request.deadline)) return refuse('DEADLINE_EXCEEDED', { requestId });
      return result(accepted, findings);
    } catch (error) {
      if (timeIsUp(limit.signal)) return refuse('DEADLINE_EXCEEDED', { requestId });
      if (limit.signal.aborted) return refuse('PROCESSOR_INTERNAL', { requestId });
      log.error('valid request failed', { error: error instanceof Error ? error.name : 'unknown' });
      return result(accepted, runtimeUnavailable(accepted));
    } finally {
      limit.cancel();
    }
  }

  function result(accepted: AcceptedRequest, findings: Findings): ProcessorReply {
    return reply(200, resultOf(findings, accepted, { processor: served.processor, issuedAtMs: clock.wallMs() }));
  }

  return {
    get working() {
      return working;
    },

    async process(received, signal) {
      const checked = checkRequest(received, {
        declarations: served.declarations,
        limits,
        nowMs: clock.wallMs(),
        bearerToken: served.bearerToken,
        knowsArtifact: served.knowsArtifact,
      });
      if (!checked.ok) return reply(checked.refusal.status, checked.refusal.body, checked.refusal.retryAfterSeconds);
      if (working >= limits.max_concurrency) return busy(limits, checked.request.request_id);
      return answer(checked, signal);
    },

    health(headers) {
      const denied = served.bearerToken === null ? null : bearerFault(headers['authorization'], served.bearerToken);
      if (denied !== null) return refuse(denied);
      const { id, version, contract } = served.processor;
      const health: ProcessorHealth = { status: served.condition(), processor: id, version, contract };
      return reply(200, health);
    },
  };
}

/** [processor §5]: a model failure on a valid request is a completed answer; the next cadence may succeed. */
function runtimeUnavailable({ declaration }: AcceptedRequest): Findings {
  const retry_after_seconds = declaration.frame.cadence_seconds;
  const unavailable = { reason_code: 'MODEL_RUNTIME_UNAVAILABLE', retryable: true, retry_after_seconds };
  return { status: 'unavailable', unavailable };
}

export function busy(limits: ServerLimits, requestId = ''): ProcessorReply {
  return refuse('PROCESSOR_BUSY', { requestId, retryAfterSeconds: limits.busy_retry_seconds });
}

export function refuse(code: ProcessorErrorCode, about: RefusalParticulars = {}): ProcessorReply {
  const { status, body, retryAfterSeconds } = processorRefusal(code, about);
  return reply(status, body, retryAfterSeconds);
}

function reply(status: number, message: object, retryAfterSeconds: number | null = null): ProcessorReply {
  return {
    status,
    headers: {
      'content-type': processorMediaType,
      'cache-control': 'no-store',
      ...(retryAfterSeconds !== null && { 'retry-after': String(retryAfterSeconds) }),
    },
    body: new TextEncoder().encode(JSON.stringify(message)),
  };
}
