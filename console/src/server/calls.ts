/** The page's only client of the service; it reports a refused token to the session after any call. */
import type { Static } from 'typebox';
import type { Capability } from '../../../src/api/capability.ts';
import { ApiError, type CallInput, createClient, type Reply } from '../../../src/api/client.ts';
import { deviceMs, followService } from '../clock.ts';
import { currentSession, currentToken, expire, onSession } from '../session/session.ts';

const client = createClient({ baseUrl: '', token: currentToken, fetch: timedFetch });

/** Calls end with the session that they were made in. */
let session = new AbortController();
onSession(() => {
  if (currentSession().status !== 'out') return;
  session.abort();
  session = new AbortController();
});

export async function call<C extends Capability>(
  capability: C,
  input: CallInput<C> = {},
): Promise<Reply<Static<C['answer']>>> {
  const token = currentToken();
  const signals = input.signal === undefined ? [session.signal] : [session.signal, input.signal];
  try {
    return await client.call(capability, { ...input, signal: AbortSignal.any(signals) });
  } catch (error) {
    const refused = error instanceof ApiError && error.status === 401 && capability.permission !== null;
    // An answer to an older token says nothing of the one that is in use now.
    if (refused && token === currentToken()) expire();
    throw error;
  }
}

/** A call with a token that is not in use yet, to see whether it is good. */
export function callWith(token: string): typeof call {
  const own = createClient({ baseUrl: '', token: () => token, fetch: timedFetch });
  return (capability, input) => own.call(capability, input);
}

/** Every answer has the time of the service, a refusal too. */
async function timedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const sentMs = deviceMs();
  const response = await fetch(...request);
  followService(response.headers.get('date'), sentMs);
  return response;
}
