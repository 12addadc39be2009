/** `setpoint token` [identity §2], [identity §7.3]: signs tokens with the site's own key, always with an audit record; lists and revokes them. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { tokenResourceId } from '../../api/users.ts';
import { newId } from '../../base/id.ts';
import { timeLabel } from '../../base/timestamp.ts';
import type { Role } from '../../gateway/claims.ts';
import { issueToken, tokenLifetimeSecondsMaximum } from '../../gateway/identity.ts';
import { identityConfig } from '../../gateway/identity-config.ts';
import { signingKey } from '../../gateway/local-keys.ts';
import { type IssuedToken, readIssuedTokens } from '../../sign-in/issued-tokens.ts';
import { createSignInStore, type Revocation } from '../../sign-in/store/sign-in-store.ts';
import { type JsonResult, jsonResultOption, printResult, recordedReason } from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { type Column, printTable } from '../table.ts';
import { type DataDirParts, forPerson, withDatabase } from './data-dir.ts';

const secondsPerUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const defaultSeconds = 12 * 3600;

const columns: readonly Column<IssuedToken>[] = [
  { title: 'ID', cell: (issued) => issued.token_id },
  { title: 'SUBJECT', cell: (issued) => issued.subject },
  { title: 'ROLE', cell: ({ role }) => role },
  { title: 'ISSUED', cell: (issued) => issued.issued_at },
  { title: 'EXPIRES', cell: (issued) => issued.expires_at },
  { title: 'STATE', cell: ({ state }) => state },
];

interface TokenOptions {
  readonly role?: Role;
  readonly subject?: string;
  readonly ttl: number;
  readonly json?: true;
}

interface RevokeOptions extends JsonResult {
  readonly subject?: string;
  readonly id?: string;
  readonly reason: string;
}

export function addTokenCommands(setpoint: Command, parts: DataDirParts): void {
  const tokens = setpoint
    .command('token')
    .description("sign an access token with the site's own key; list and revoke such tokens")
    // Needed to sign one; the library would also demand an option that it knows as mandatory from the commands below.
    .addOption(new Option('--role <role>', 'role of the token (required)').choices(['Admin', 'Engineer', 'Viewer']))
    .option('--subject <name>', 'who it is for (required)', subject)
    .addOption(
      new Option('--ttl <time>', 'how long it is valid, at most 30d')
        .argParser(lifetime)
        .default(defaultSeconds, '12h'),
    )
    .option('--json', 'print the token and when it ends as JSON')
    .action((options: TokenOptions) => token(parts, options));
  tokens
    .command('list')
    .description('list the tokens that have not expired, as far as the audit log has their issue')
    .option('--json', 'print them as JSON')
    .action((options: { readonly json?: true }) => list(parts, options.json === true));
  tokens
    .command('revoke')
    .description('revoke a single token, or all tokens and sessions of a subject')
    .option('--subject <name>', 'all tokens and sessions of this subject')
    .option('--id <id>', 'the token of this id (jti), as `token list` and its audit event have it')
    .requiredOption('--reason <text>', 'why, 3 to 500 characters', recordedReason)
    .option(...jsonResultOption)
    .action((options: RevokeOptions) => revoke(parts, options));
}

/** `90s`, `30m`, `12h`, `7d` as seconds. */
function lifetime(text: string): number {
  const match = /^([1-9][0-9]{0,8})([smhd])$/.exec(text);
  const seconds = Number(match?.[1]) * (secondsPerUnit[match?.[2] ?? ''] ?? Number.NaN);
  if (!(seconds >= 1 && seconds <= tokenLifetimeSecondsMaximum))
    throw new InvalidArgumentError('Give a time such as 30m, 12h or 7d, at most 30d.');
  return seconds;
}

function subject(text: string): string {
  if (text.length < 1 || text.length > 128) throw new InvalidArgumentError('Give 1 to 128 characters.');
  return text;
}

function refuseOtherKeys({ settings }: DataDirParts): void {
  if (identityConfig(settings().env).jwt.kind !== 'local')
    throw new CommandError(
      'this command is for tokens of the local key only; with SVC_JWT_SECRET or SVC_JWT_JWKS_URL the identity provider issues them',
    );
}

async function token(parts: DataDirParts, { role, subject: name, ttl, json }: TokenOptions): Promise<void> {
  if (role === undefined || name === undefined) {
    const missing = role === undefined ? '--role <role>' : '--subject <name>';
    throw new CommandError(`required option '${missing}' not specified; add --help for usage`, exitCodes.notConfirmed);
  }
  const { dataDir } = parts.settings();
  refuseOtherKeys(parts);
  await withDatabase(parts, async ({ audit }) => {
    const tokenId = newId();
    const issuedAtSeconds = Math.floor(parts.clock.wallMs() / 1000);
    // The record comes first: without it no token is issued.
    await audit.append({
      subject: { kind: 'system', subjectId: 'setpoint-cli' },
      action: 'identity.token.issue',
      resource: { kind: 'identity-token', resourceId: tokenResourceId(name) },
      outcome: 'succeeded',
      risk: 'high',
      confirmation: 'not-required',
      correlationId: newId(),
      details: {
        role,
        subject: name,
        ttl_seconds: ttl,
        token_id: tokenId,
        issued_at: timeLabel(issuedAtSeconds * 1000),
      },
    });
    const claims = { subject: name, role, issuedAtSeconds, lifetimeSeconds: ttl, tokenId };
    const issued = await issueToken(
      forPerson(() => signingKey(dataDir)),
      claims,
    );
    const expiresAt = new Date((issuedAtSeconds + ttl) * 1000).toISOString();
    parts.terminal.out(
      json === true
        ? `${JSON.stringify({ token: issued, token_id: tokenId, role, subject: name, expires_at: expiresAt })}\n`
        : `${issued}\n`,
    );
  });
}

async function list(parts: DataDirParts, json: boolean): Promise<void> {
  refuseOtherKeys(parts);
  await withDatabase(parts, async ({ database, scope }) => {
    const { clock } = parts;
    const found = await readIssuedTokens({ database, scope, clock, store: createSignInStore(database) });
    if (json) parts.terminal.out(`${JSON.stringify(found)}\n`);
    else printTable(parts.terminal, columns, found);
  });
}

async function revoke(parts: DataDirParts, options: RevokeOptions): Promise<void> {
  const { subject, id, reason } = options;
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
    const what = subject === undefined ? `the token ${id}` : `all tokens and sessions of ${subject} until now`;
    const revoked = { subject: subject ?? null, token_id: id ?? null, revoked_at: timeLabel(revocation.revokedMs) };
    printResult(parts.terminal, options, revoked, `revoked: ${what}\n`);
  });
}
