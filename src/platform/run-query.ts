/** The one path of every query without a route: decode → permission, before any read → the work. */
import type { ApplicationContract } from './application-contract.ts';
import { decodeQueryContext, type QueryContext } from './call-context.ts';
import { type Refusal, refuseWith } from './refusal.ts';

export async function runQuery<Input, Success>(
  use: {
    readonly contract: ApplicationContract;
    decodeInput(value: unknown): Input | null;
    work(context: QueryContext, input: Input): Promise<Success | Refusal>;
  },
  rawContext: unknown,
  rawInput: unknown,
): Promise<Success | Refusal> {
  const context = decodeQueryContext(rawContext);
  const input = use.decodeInput(rawInput);
  if (context === null || input === null) return refuseWith('invalid-input');
  const { permission } = use.contract;
  if (permission !== null && !context.permissions.includes(permission)) return refuseWith('permission-denied');
  return use.work(context, input);
}
