/** `setpoint token` [identity §2]: signs a token with the site's own key, always with an audit record. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { tokenResourceId } from '../../api/users.ts';
import { newId } from '../../base/id.ts';
import { issueToken, tokenLifetimeSecondsMaximum } from '../../gateway/identity.ts';
import { identityConfig } from '../../gateway/identity-config.ts';
import { signingKey } from '../../gateway/local-keys.ts';
import type { Role } from '../../gateway/roles.ts';
import { CommandError } from '../exit.ts';
import { type DataDirParts, forPerson, withDatabase } from './data-dir.ts';

const secondsPerUnit: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const defaultSeconds = 12 * 3600;

interface TokenOptions {
  readonly role: Role;
  readonly subject: string;
  readonly ttl: number;
  readonly json?: true;
}

export function addTokenCommand(setpoint: Command, parts: DataDirParts): void {
  setpoint
    .command('token')
    .description("sign an access token with the site's own key")
    .addOption(
      new Option('--role <role>', 'role of the token').choices(['Admin', 'Engineer', 'Viewer']).makeOptionMandatory(),
    )
    .requiredOption('--subject <name>', 'who it is for', subject)
    .addOption(
      new Option('--ttl <time>', 'how long it is valid, at most 30d')
        .argParser(lifetime)
        .default(defaultSeconds, '12h'),
    )
    .option('--json', 'print the token and when it ends as JSON')
    .action((options: TokenOptions) => token(parts, options));
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

async function token(parts: DataDirParts, { role, subject: name, ttl, json }: TokenOptions): Promise<void> {
  const { dataDir, env } = parts.settings();
  if (identityConfig(env).jwt.kind !== 'local')
    throw new CommandError(
      'this command issues tokens for the local key only; with SVC_JWT_SECRET or SVC_JWT_JWKS_URL the identity provider does',
    );
  await withDatabase(parts, async ({ audit }) => {
    const tokenId = newId();
    // The record comes first: without it no token is issued.
    await audit.append({
      subject: { kind: 'system', subjectId: 'setpoint-cli' },
      action: 'identity.token.issue',
      resource: { kind: 'identity-token', resourceId: tokenResourceId(name) },
      outcome: 'succeeded',
      risk: 'high',
      confirmation: 'not-required',
      correlationId: newId(),
      details: { role, subject: name, ttl_seconds: ttl, token_id: tokenId },
    });
    const issuedAtSeconds = Math.floor(parts.clock.wallMs() / 1000);
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
