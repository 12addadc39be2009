/** Requests of the other side that have no answer yet [platform §8]: an end of its input is not a reason not to give one. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { type Clock, sleep } from '../base/clock.ts';

export interface OpenRequests {
  /** Resolves when every request has its answer, or `deadlineMs` has passed. */
  answered(deadlineMs: number): Promise<void>;
}

/** Watches what passes a transport that a server is connected to. */
export function watchRequests(transport: Transport, clock: Clock): OpenRequests {
  const open = new Set<RequestId>();
  let none = new AbortController();
  const close = (id: RequestId | undefined): void => {
    if (id !== undefined && open.delete(id) && open.size === 0) none.abort();
  };
  const receive = transport.onmessage;
  const send = transport.send.bind(transport);
  Object.assign(transport, {
    onmessage(message, extra) {
      if (isJSONRPCRequest(message)) {
        open.add(message.id);
        if (none.signal.aborted) none = new AbortController();
      } else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
        // It gets no answer any more.
        const id = message.params?.['requestId'];
        if (typeof id === 'string' || typeof id === 'number') close(id);
      }
      receive?.(message, extra);
    },
    async send(message, options) {
      await send(message, options);
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) close(message.id);
    },
  } satisfies Pick<Transport, 'onmessage' | 'send'>);
  return {
    async answered(deadlineMs) {
      if (open.size > 0) await sleep(clock, deadlineMs, none.signal).catch(() => undefined);
    },
  };
}
