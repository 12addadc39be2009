/**
 * Progress of a long call [rules §10.1]: for a caller that accepts `application/x-ndjson` the answer is lines, first
 * `{"progress": share}`, and last the whole envelope. Nothing is sent before the first line, so that an early refusal keeps its status.
 */
import { PassThrough } from 'node:stream';
import type { FastifyReply } from 'fastify';

const progressType = 'application/x-ndjson';

export function acceptsProgress(accept: string | undefined): boolean {
  const types = (accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  return types.includes(progressType);
}

export class ProgressLines {
  readonly #reply: FastifyReply;
  #lines: PassThrough | null = null;

  constructor(reply: FastifyReply) {
    this.#reply = reply;
  }

  isOpen(): boolean {
    return this.#lines !== null;
  }

  /** From 0 to 1. */
  report(share: number): void {
    this.#opened().write(`${JSON.stringify({ progress: share })}\n`);
  }

  /** The last line. */
  end(envelope: unknown): void {
    this.#opened().end(`${JSON.stringify(envelope)}\n`);
  }

  #opened(): PassThrough {
    if (this.#lines !== null) return this.#lines;
    this.#lines = new PassThrough();
    void this.#reply.type(progressType).send(this.#lines);
    return this.#lines;
  }
}
