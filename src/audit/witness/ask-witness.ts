/** One request to a witness [audit §9] (C2SP tlog-witness, add-checkpoint), within a deadline. */
import type { Clock } from '../../base/clock.ts';
import { exchange, failureWords } from '../../egress/exchange.ts';
import { isLoopbackHost, systemResolve } from '../../egress/pinned-address.ts';
import { parseWhole } from '../../transparency/checkpoint.ts';
import { sizeMediaType } from '../../transparency/submission.ts';

type WitnessReply =
  | { readonly kind: 'cosigned'; readonly lines: readonly string[] }
  /** Our size is not the last one that it saw. */
  | { readonly kind: 'other-size'; readonly size: number }
  /** It saw a head that ours does not extend. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'failed'; readonly reason: string };

export type AskWitness = (url: URL, submission: string) => Promise<WitnessReply>;

const answerBytesMax = 16_384;

export function witnessAsker(clock: Clock, timeoutMs: number): AskWitness {
  return async (url, submission) => {
    const ended = await exchange(
      {
        url: new URL(`${url.href.replace(/\/$/, '')}/add-checkpoint`),
        boundary: isLoopbackHost(url.hostname) ? 'local' : 'remote',
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: Buffer.from(submission),
        connectTimeoutMs: timeoutMs,
        requestTimeoutMs: timeoutMs,
        wanted: () => ({ maxBytes: answerBytesMax, longer: 'refused' }),
      },
      { clock, resolve: systemResolve },
      new AbortController().signal,
    );
    if (ended.end !== 'answer') return { kind: 'failed', reason: failureWords(ended) };
    const { status, contentType, body } = ended.answer;
    const text = Buffer.from(body).toString();
    if (status === 200) return { kind: 'cosigned', lines: text.split('\n').filter((line) => line !== '') };
    if (status === 422) return { kind: 'refused' };
    const size = status === 409 && contentType?.startsWith(sizeMediaType) === true ? parseWhole(text.trimEnd()) : null;
    return size === null ? { kind: 'failed', reason: `status ${status}` } : { kind: 'other-size', size };
  };
}
