/** The one path of every query without a route: decode → permission, before any read → the work. */
import type { ApplicationContract } from './application-contract.ts';
import { decodeQueryContext, type QueryContext } from './call-context.ts';
import { type Refusal, refuse } from './refusal.ts';

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
  if (context === null || input === null) return refuse('invalid-input');
  const { permission } = use.contract;
  if (permission !== null && !context.permissions.includes(permission)) return refuse('permission-denied');
  return use.work(context, input);
}
