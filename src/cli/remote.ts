/**
 * Client of the running service [platform §7]: address and token from the environment, every call by its
 * descriptor, and no mutation without `--confirmed`.
 */
import type { Static } from 'typebox';
import type { Capability } from '../api/capability.ts';
import { ApiError, type CallInput, type Client, createClient, localCodes, type Reply } from '../api/client.ts';
import { CommandError, exitCodes } from './exit.ts';
import { painted, type Terminal } from './terminal.ts';

export type RemoteEnvironment = Readonly<Record<string, string | undefined>>;

const exampleUrl = 'http://127.0.0.1:8080';
const loopback = '127.0.0.1';
const defaultPort = '8080';
/** Addresses to listen on that no client can connect to. */
const wildcards: readonly string[] = ['', '0.0.0.0', '::'];

export interface Remote {
  readonly baseUrl: string;
  call<C extends Capability>(capability: C, input?: CallInput<C>): Promise<Reply<Static<C['answer']>>>;
}

export function remoteOf(env: RemoteEnvironment): Remote {
  const baseUrl = baseUrlIn(env);
  const token = tokenOf(env['SVC_ACCESS_TOKEN']);
  const client: Client = createClient({ baseUrl, token: () => token });
  return {
    baseUrl,
    async call(capability, input) {
      if (capability.permission !== null && token === null)
        throw new CommandError(
          'SVC_ACCESS_TOKEN is not set; create one on the machine of the service with `setpoint token --role Engineer --subject you`',
          exitCodes.notConfirmed,
        );
      try {
        return await client.call(capability, input);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== localCodes.unreachable) throw error;
        throw error.saying(`no answer from ${baseUrl}: is the service running, and is SVC_BASE_URL right?`);
      }
    },
  };
}

/** The address of the service, without a slash at its end: by default that of a service with the same environment. */
export function baseUrlIn(env: RemoteEnvironment): string {
  const { SVC_BASE_URL: given = '', SVC_HTTP_HOST: host = '', SVC_HTTP_PORT: port = '' } = env;
  const reachable = wildcards.includes(host) ? loopback : host;
  const own = `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port === '' ? defaultPort : port}`;
  const url = URL.parse(given === '' ? own : given);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new CommandError(
      given === ''
        ? 'SVC_HTTP_HOST and SVC_HTTP_PORT give no address of a service; set SVC_BASE_URL'
        : `SVC_BASE_URL must be the address of the service, such as ${exampleUrl}`,
      exitCodes.notConfirmed,
    );
  return url.href.replace(/\/+$/, '');
}

function tokenOf(text: string | undefined): string | null {
  const token = text?.trim() ?? '';
  if (token === '') return null;
  // A character that is invalid in a header would look like an unreachable service.
  if (!/^[\u0021-\u007e]+$/.test(token))
    throw new CommandError(
      'SVC_ACCESS_TOKEN is not a token: it contains spaces or control characters',
      exitCodes.notConfirmed,
    );
  return token;
}

export interface RemoteChange<C extends Capability> {
  readonly capability: C;
  readonly input: CallInput<C>;
  /** Completes "This would …". */
  readonly what: string;
  readonly confirmed: boolean;
  /** Prompt at a terminal before anything is sent. */
  readonly question?: string;
}

/** Performs a confirmed change; explains one that is not confirmed. */
export async function change<C extends Capability>(
  remote: Remote,
  terminal: Terminal,
  order: RemoteChange<C>,
): Promise<Reply<Static<C['answer']>>> {
  if (!order.confirmed)
    throw new CommandError(
      `this would ${order.what} at ${remote.baseUrl}. Nothing was done; give --confirmed to do it`,
      exitCodes.notConfirmed,
    );
  if (order.question !== undefined && (await terminal.ask(order.question)) === false)
    throw new CommandError('nothing was done', exitCodes.notConfirmed);
  const reply = await remote.call(order.capability, { ...order.input, confirmed: true });
  if (reply.audit === 'incomplete')
    terminal.error(
      `setpoint: ${painted(terminal, 'yellow', 'the change was made, but the audit record of its end is missing')} (correlation id ${reply.correlationId ?? 'unknown'})\n`,
    );
  return reply;
}
