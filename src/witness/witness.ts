/**
 * A witness [audit §9.6] (C2SP tlog-witness): cosigns the checkpoint of a configured log, and only when that log extends the last
 * cosigned one. A log can therefore not take back what the witness has seen without being noticed.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { extendsTree } from '../transparency/merkle-proof.ts';
import { formatNote, formatSignature, isSignedBy, type Verifier } from '../transparency/signed-note.ts';
import { type Cosigner, nodeCryptography } from '../transparency/signing.ts';
import { parseSubmission, type Submission, sizeMediaType } from '../transparency/submission.ts';
import type { WitnessState } from './witness-state.ts';

export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly type: string;
  readonly body: string;
}

const plain = 'text/plain; charset=utf-8';
const msPerSecond = 1000;

const refused = (status: 400 | 403 | 404 | 422, why: string): WitnessAnswer => ({
  status,
  type: plain,
  body: `${why}\n`,
});

export class Witness {
  readonly #state: WitnessState;
  readonly #cosigner: Cosigner;
  readonly #logs: ReadonlyMap<string, Verifier>;
  readonly #clock: Clock;
  /** One at a time: check and store are one. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(state: WitnessState, cosigner: Cosigner, logs: readonly Verifier[], clock: Clock) {
    this.#state = state;
    this.#cosigner = cosigner;
    this.#logs = new Map(logs.map((log) => [log.name, log]));
    this.#clock = clock;
  }

  addCheckpoint(body: string): Promise<WitnessAnswer> {
    const answer = this.#turn.then(() => this.#judge(body));
    this.#turn = answer.catch(() => undefined);
    return answer;
  }

  /** The last cosigned checkpoint of the log whose origin has this SHA-256. */
  checkpoint(originHash: string): WitnessAnswer {
    const origin = [...this.#logs.keys()].find((name) => hash('sha256', name) === originHash);
    const note = origin === undefined ? null : this.#state.note(origin);
    return note === null ? refused(404, 'no checkpoint of such a log') : { status: 200, type: plain, body: note };
  }

  async #judge(body: string): Promise<WitnessAnswer> {
    const submission = parseSubmission(body);
    if (submission === null) return refused(400, 'the request is not "old <size>", a proof and a checkpoint');
    const { head, note, old, proof } = submission;
    const log = this.#logs.get(head.origin);
    if (log === undefined) return refused(404, 'unknown log');
    if (!(await isSignedBy(note, log, nodeCryptography)))
      return refused(403, 'the checkpoint is not signed with the key of the log');
    if (old > head.size) return refused(400, 'old is larger than the size of the checkpoint');
    const last = this.#state.last(head.origin) ?? { size: 0, root: new Uint8Array() };
    const seen = { status: 409, type: sizeMediaType, body: `${last.size}\n` } as const;
    if (old !== last.size) return seen;
    const isExtended = await extendsTree(last, head, proof, nodeCryptography);
    if (isExtended) return this.#cosigned(submission);
    return old === head.size && proof.length === 0 ? seen : refused(422, 'the proof is not valid');
  }

  #cosigned({ head, note }: Submission): WitnessAnswer {
    const signature = this.#cosigner.cosign(note.text, Math.floor(this.#clock.wallMs() / msPerSecond));
    const own = note.signatures.filter(({ name }) => name === head.origin);
    // Before the answer: a cosignature that this witness forgets could be given twice.
    this.#state.store(head.origin, formatNote({ ...note, signatures: [...own, signature] }));
    return { status: 200, type: plain, body: formatSignature(signature) };
  }
}
