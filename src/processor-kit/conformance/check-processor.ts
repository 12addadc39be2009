/**
 * The conformance check of a processor in any language: valid requests must get valid results, hostile ones the error
 * that the contract defines. One line of the scorecard each; nothing is assumed about the processor except its address.
 */
import {
  type ForecastOptions,
  forecastContractId,
  type ProcessorHealth,
  processorErrorSchema,
  processorHealthSchema,
} from '../../api/processing.ts';
import { newId } from '../../base/id.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import { validateResult } from '../../contract/validate/result.ts';
import { digestOf } from '../../contract/wire/digest.ts';
import { type ProcessorErrorCode, processorRefusal } from '../../contract/wire/error-envelope.ts';
import { requestBytes } from '../../contract/wire/request-bytes.ts';
import type { NormalisedRequest } from '../../contract/wire/request-decode.ts';
import { shape } from '../../contract/wire/shape.ts';
import { type HostileRequest, hostileRequests } from './hostile-requests.ts';
import { sampleRequest } from './sample-request.ts';
import { type Got, messageOf, send, type Target } from './wire.ts';

export interface ScoreLine {
  readonly part: string;
  readonly name: string;
  readonly passed: boolean;
  /** The actual result, if it is not the expected one. */
  readonly seen: string;
}

/** Tolerated difference between the processor's clock and ours, as the default of a route. */
const clockSkewMs = 2000;
const usualDeadlineMs = 30_000;
const shortDeadlineMs = 50;
/** Tolerated delay of an answer after the deadline. */
const shortDeadlineGraceMs = 2000;
const callersAtOnce = 32;
/** Contents that an error must never have: absolute paths, stack frames, queries, addresses. */
const leaks =
  /(^|[\s"'(=])\/(?!frame|options|task|binding|artifact|deadline|submitted_at|request_id|schema|input_digest|processor_contract)[a-z]+\/|\bat [\w.<>]+ \(|Traceback|\bSELECT\b|\d+\.\d+\.\d+\.\d+/;

const healthShape = shape(processorHealthSchema);
const errorShape = shape(processorErrorSchema);

export async function checkProcessor(target: Target, task: TaskDeclaration): Promise<ScoreLine[]> {
  const health = await readHealth(target);
  if (typeof health === 'string')
    return [line('health', 'GET /v1/health returns status, identity and contract', health)];
  return [
    line('health', 'GET /v1/health returns status, identity and contract', null),
    ...(await checkValid(target, task, health)),
    ...(await checkHostile(target, task)),
    ...(await checkLoad(target, task, health)),
    ...(target.bearerToken === null ? [] : await checkAuthorization(target, task)),
  ];
}

function line(part: string, name: string, wrong: string | null): ScoreLine {
  return { part, name, passed: wrong === null, seen: wrong ?? '' };
}

async function readHealth(target: Target): Promise<ProcessorHealth | string> {
  const got = await send(target, { route: 'v1/health', body: null });
  const message = messageOf(got);
  if (!message.ok) return message.why;
  const health = healthShape(message.message);
  if (!health.ok) return `${health.issue.path} ${health.issue.rule}`;
  return health.value.contract === forecastContractId ? health.value : 'another contract';
}

const jsonOf = (request: NormalisedRequest): string => new TextDecoder().decode(requestBytes(request));

function sample(
  target: Target,
  task: TaskDeclaration,
  changes: Partial<ForecastOptions> = {},
  deadlineMs = usualDeadlineMs,
) {
  const sampling = { nowMs: target.clock.wallMs(), deadlineMs, requestId: newId(), bindingId: 'conformance.check' };
  return sampleRequest(task, { kind: 'forecast', horizon_steps: 1, ...changes }, sampling);
}

/** Null when the answer is a valid result of the request. */
function judge(got: Got, request: NormalisedRequest, task: TaskDeclaration, { target, health }: Known): string | null {
  const message = messageOf(got);
  if (!message.ok) return message.why;
  if (got.ok && got.answer.status !== 200) {
    const error = errorShape(message.message);
    return error.ok
      ? `${got.answer.status} ${error.value.code} ${JSON.stringify(error.value.details)}`
      : `${got.answer.status}`;
  }
  const route = {
    processor: { id: health.processor, version: health.version, contract: health.contract },
    requires_artifact: false,
    max_clock_skew_ms: clockSkewMs,
  };
  const verdict = validateResult(message.message, { request, declaration: task, route, nowMs: target.clock.wallMs() });
  if (verdict.outcome === 'accepted') return null;
  const { check, path, rule } = verdict.rejection;
  return `rejected: ${[check, path, rule].filter(Boolean).join(' ')}`;
}

interface Known {
  readonly target: Target;
  readonly health: ProcessorHealth;
}

async function checkValid(target: Target, task: TaskDeclaration, health: ProcessorHealth): Promise<ScoreLine[]> {
  const known = { target, health };
  const ask = async (name: string, request: NormalisedRequest, body = jsonOf(request)): Promise<ScoreLine> =>
    line('valid requests', name, judge(await send(target, { route: 'v1/process', body }), request, task, known));
  const lines = [
    await ask('one step', sample(target, task)),
    await ask('the longest horizon', sample(target, task, { horizon_steps: task.frame.horizon_steps })),
  ];
  const most = Math.min(task.output.max_quantiles, 9);
  if (most > 0) {
    const quantiles = Array.from({ length: most }, (_, index) => Number(((index + 1) / (most + 1)).toFixed(3)));
    lines.push(await ask(`${most} quantiles`, sample(target, task, { quantiles })));
  }
  const capital = sample(target, task);
  const upper = { ...capital, request_id: capital.request_id.toUpperCase() };
  lines.push(await ask('a request id in capitals is returned unchanged', upper));
  const twice = sample(target, task);
  await send(target, { route: 'v1/process', body: jsonOf(twice) });
  lines.push(await ask('the same request id again is another run', twice));
  lines.push(...(await checkDigests(ask, sample(target, task))));
  return lines;
}

/** [data-processing §3.6]: the frame as parsed and as normalised are both good. */
async function checkDigests(
  ask: (name: string, request: NormalisedRequest, body: string) => Promise<ScoreLine>,
  request: NormalisedRequest,
): Promise<ScoreLine[]> {
  const { static_features: _, ...without } = request.frame;
  const spelled = { ...request.frame, as_of: request.frame.as_of.replace(/(\.\d+)?Z$/, '.000Z') };
  const asParsed = (frame: object) => {
    const input_digest = digestOf({ ...request, frame });
    return [{ ...request, input_digest }, JSON.stringify({ ...request, frame, input_digest })] as const;
  };
  const asNormalised = (frame: object) => [request, JSON.stringify({ ...request, frame })] as const;
  return [
    await ask('static_features left out, digest of the normal form', ...asNormalised(without)),
    await ask('static_features left out, digest as sent', ...asParsed(without)),
    await ask('a fraction of zero, digest of the normal form', ...asNormalised(spelled)),
    await ask('a fraction of zero, digest as sent', ...asParsed(spelled)),
  ];
}

async function checkHostile(target: Target, task: TaskDeclaration): Promise<ScoreLine[]> {
  const lines: ScoreLine[] = [];
  const make = (): readonly HostileRequest[] => hostileRequests(sample(target, task), task);
  let made = make();
  let madeAtMs = target.clock.monotonicMs();
  for (let index = 0; index < made.length; index++) {
    // Renewed in time, so that a long run meets no deadline.
    if (target.clock.monotonicMs() - madeAtMs > usualDeadlineMs / 3) {
      made = make();
      madeAtMs = target.clock.monotonicMs();
    }
    const each = made[index];
    if (each === undefined) break;
    const { name, contentType, contentEncoding, body, code } = each;
    const got = await send(target, {
      route: 'v1/process',
      body,
      contentType,
      ...(contentEncoding !== undefined && { contentEncoding }),
    });
    lines.push(line('hostile requests', name, refusalFault(got, code)));
  }
  return lines;
}

/** Null if the answer is the defined error, in the contract's envelope, and reveals nothing else. */
function refusalFault(got: Got, code: ProcessorErrorCode): string | null {
  const wanted = processorRefusal(code);
  const expected = `expected ${wanted.status} ${wanted.body.category} ${code}`;
  const message = messageOf(got);
  if (!message.ok) return `${message.why}, ${expected}`;
  const status = got.ok ? got.answer.status : 0;
  if (status === 200) return `accepted (200), ${expected}`;
  const error = errorShape(message.message);
  if (!error.ok) {
    const { path, rule } = error.issue;
    return `${status} without the error envelope (${`${path} ${rule}`.trim()}), ${expected}`;
  }
  const { value } = error;
  if (status !== wanted.status || value.category !== wanted.body.category || value.code !== code)
    return `${status} ${value.category} ${value.code}, ${expected}`;
  if (leaks.test(JSON.stringify([value.message, value.details])))
    return 'message or details tell a path, an address, a query or a stack';
  return null;
}

/** Deadlines that cannot be met, and more callers than slots. */
async function checkLoad(target: Target, task: TaskDeclaration, health: ProcessorHealth): Promise<ScoreLine[]> {
  const known = { target, health };
  const short = sample(target, task, { horizon_steps: task.frame.horizon_steps }, shortDeadlineMs);
  const got = await send(target, { route: 'v1/process', body: jsonOf(short) });
  const late =
    got.ok && got.elapsedMs > shortDeadlineMs + shortDeadlineGraceMs
      ? `answered after ${Math.round(got.elapsedMs)} ms`
      : null;
  const kept = got.ok && got.answer.status === 200 ? null : refusalFault(got, 'DEADLINE_EXCEEDED');
  const requests = Array.from({ length: callersAtOnce }, () => sample(target, task));
  const answers = await Promise.all(
    requests.map((request) => send(target, { route: 'v1/process', body: jsonOf(request) })),
  );
  const wrong = answers.flatMap((answer, index) => {
    const request = requests[index];
    const busy = answer.ok && answer.answer.status === 429;
    const fault =
      busy || request === undefined ? refusalFault(answer, 'PROCESSOR_BUSY') : judge(answer, request, task, known);
    return fault === null ? [] : [fault];
  });
  const served = answers.some((answer) => answer.ok && answer.answer.status === 200);
  return [
    line('load', `a deadline in ${shortDeadlineMs} ms is kept, or refused with 504`, late ?? kept),
    line(
      'load',
      `${callersAtOnce} concurrent callers are answered or refused with 429`,
      wrong[0] ?? (served ? null : 'no caller was answered'),
    ),
  ];
}

async function checkAuthorization(target: Target, task: TaskDeclaration): Promise<ScoreLine[]> {
  const ask = async (bearerToken: string | null) =>
    send(target, { route: 'v1/process', body: jsonOf(sample(target, task)), bearerToken });
  return [
    line('authorization', 'no token is 401', refusalFault(await ask(null), 'PROCESSOR_AUTH_REQUIRED')),
    line(
      'authorization',
      'another token is 403',
      refusalFault(await ask(`${target.bearerToken}x`), 'PROCESSOR_AUTH_DENIED'),
    ),
  ];
}
