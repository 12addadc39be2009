/** `setpoint revoke-token` [identity §7.3]: revokes issued tokens, and the sessions of a subject, on every process of the site. */
import type { Command } from 'commander';
import { tokenResourceId } from '../../api/users.ts';
import { createSignInStore, type Revocation } from '../../sign-in/store/sign-in-store.ts';
import { CommandError } from '../exit.ts';
import { type DataDirParts, withDatabase } from './data-dir.ts';

interface RevokeOptions {
  readonly subject?: string;
  readonly id?: string;
  readonly reason: string;
}

export function addRevokeCommand(setpoint: Command, parts: DataDirParts): void {
  setpoint
    .command('revoke-token')
    .description('revoke a single token, or all tokens and sessions of a subject')
    .option('--subject <name>', 'all tokens and sessions of this subject')
    .option('--id <id>', 'the token of this id (jti), as its audit event names it')
    .requiredOption('--reason <text>', 'why')
    .action((options: RevokeOptions) => revoke(parts, options));
}

async function revoke(parts: DataDirParts, { subject, id, reason }: RevokeOptions): Promise<void> {
  if ((subject === undefined) === (id === undefined)) throw new CommandError('give either --subject or --id');
  const named = subject === undefined ? { token_id: id ?? '' } : { subject };
  const revocation: Revocation = {
    kind: subject === undefined ? 'token' : 'subject',
    value: subject ?? id ?? '',
    revokedMs: parts.clock.wallMs(),
  };
  await withDatabase(parts, async ({ database, begin }) => {
    const resourceId = subject === undefined ? 'identity-token' : tokenResourceId(subject);
    const resource = { kind: 'identity-token', resourceId };
    const act = { action: 'identity.token.revoke', resource, confirmation: 'not-required' } as const;
    // The record comes first: without it nothing changes.
    const ended = await begin([act], { ...named, reason });
    try {
      await createSignInStore(database).revoke(revocation);
      await ended('succeeded', {});
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      await ended('failed', { error: message });
      throw new CommandError(message);
    }
    parts.terminal.out(
      `revoked: ${subject === undefined ? `the token ${id}` : `all tokens and sessions of ${subject} until now`}\n`,
    );
  });
}
