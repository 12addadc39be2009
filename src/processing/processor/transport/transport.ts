/** The interface of a transport. */
import type { Clock } from '../../../base/clock.ts';
import type { Log } from '../../../base/log.ts';
import type { Resolve } from '../../../egress/pinned-address.ts';
import type { ProcessorSettings } from '../../commission/routes.ts';
import type { Processor } from '../processor.ts';

export type TransportSettings = Pick<
  ProcessorSettings,
  | 'id'
  | 'version'
  | 'contract'
  | 'endpoint'
  | 'boundary'
  | 'max_request_bytes'
  | 'max_response_bytes'
  | 'connect_timeout_ms'
  | 'request_timeout_ms'
>;

export interface TransportParts {
  readonly clock: Clock;
  /** The value of the variable that `bearer_token_env` names; null: no token is sent. */
  readonly bearerToken: string | null;
  /** The resolver of host names; the system's by default. */
  readonly resolve?: Resolve;
  /** Gets the reason why a processor does not answer; callers get only a code. */
  readonly log?: Log;
}

export interface ReachedProcessor extends Processor {
  /** Calls are refused without contacting the processor. */
  breakerOpen(): boolean;
}

export type Transport = (settings: TransportSettings, parts: TransportParts) => ReachedProcessor;
