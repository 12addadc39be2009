/**
 * Engine runs in progress, one per scope and key [platform §6.3]: the same request joins, a different one is refused. A run is
 * cancelled when all of its callers have left.
 */

import type { CallSubject } from '../call-context.ts';
import { isSameRequest } from '../run-command.ts';

interface Flight<Landed> {
  readonly subject: CallSubject;
  readonly requestDigest: string;
  readonly landed: Promise<Landed>;
  readonly controller: AbortController;
  waiting: number;
}

type Boarded<Landed> =
  | { readonly kind: 'landed'; readonly value: Landed; readonly joined: boolean }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'full' }
  | { readonly kind: 'left' };

interface Passenger {
  /** Scope and key. */
  readonly key: string;
  readonly subject: CallSubject;
  readonly requestDigest: string;
  readonly signal: AbortSignal | undefined;
}

export interface EngineFlights<Landed> {
  board(passenger: Passenger, fly: (signal: AbortSignal) => Promise<Landed>): Promise<Boarded<Landed>>;
}

export function createEngineFlights<Landed>(flightsMax: number): EngineFlights<Landed> {
  const flights = new Map<string, Flight<Landed>>();

  const depart = (passenger: Passenger, fly: (signal: AbortSignal) => Promise<Landed>): Flight<Landed> => {
    const { key, subject, requestDigest } = passenger;
    const controller = new AbortController();
    const landed = fly(controller.signal).finally(() => {
      if (flights.get(key) === flight) flights.delete(key);
    });
    const flight: Flight<Landed> = { subject, requestDigest, landed, controller, waiting: 0 };
    flights.set(key, flight);
    return flight;
  };

  return {
    async board(passenger, fly) {
      const { key, signal } = passenger;
      const underWay = flights.get(key);
      if (underWay !== undefined && !isSameRequest(underWay, passenger.subject, passenger.requestDigest)) {
        return { kind: 'conflict' };
      }
      if (underWay === undefined && flights.size >= flightsMax) return { kind: 'full' };
      const flight = underWay ?? depart(passenger, fly);
      flight.waiting++;
      const left = await waitFor(flight.landed, signal);
      flight.waiting--;
      if (left.kind === 'landed') return { ...left, joined: underWay !== undefined };
      if (flight.waiting === 0) {
        // Nobody joins a run that is being cancelled: the next with this key starts a new one.
        if (flights.get(key) === flight) flights.delete(key);
        flight.controller.abort();
      }
      return left;
    },
  };
}

function waitFor<Landed>(
  landed: Promise<Landed>,
  signal: AbortSignal | undefined,
): Promise<{ kind: 'landed'; value: Landed } | { kind: 'left' }> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      resolve({ kind: 'left' });
      return;
    }
    const onAbort = (): void => resolve({ kind: 'left' });
    signal?.addEventListener('abort', onAbort, { once: true });
    const settle = (): void => signal?.removeEventListener('abort', onAbort);
    landed.then(
      (value) => {
        settle();
        resolve({ kind: 'landed', value });
      },
      (error: unknown) => {
        settle();
        reject(error instanceof Error ? error : new Error('the run ended without a reason'));
      },
    );
  });
}
