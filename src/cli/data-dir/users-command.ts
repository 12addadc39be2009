/** `setpoint users` and `setpoint sign-in-link` [identity §7.2]: accounts of the site, beside a running service or without one. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AuditLog } from '../../audit/log.ts';
import { silentLog } from '../../base/log.ts';
import { timeLabel } from '../../base/timestamp.ts';
import { type Role, roles } from '../../gateway/claims.ts';
import { identityConfig } from '../../gateway/identity-config.ts';
import { gatewayLimits } from '../../gateway/limits.ts';
import { Accounts } from '../../sign-in/accounts.ts';
import { issueCode, passwordCodeMs, signInCodeMs } from '../../sign-in/codes.ts';
import { createSignInStore, type SignInStore } from '../../sign-in/store/sign-in-store.ts';
import { accountView, passwordLink } from '../../sign-in/user-capabilities.ts';
import { type JsonResult, jsonResultOption, printResult } from '../command-line.ts';
import { CommandError } from '../exit.ts';
import { baseUrlIn } from '../remote.ts';
import { printTable } from '../table.ts';
import { type DataDirParts, withDatabase } from './data-dir.ts';

export function addUserCommands(setpoint: Command, parts: DataDirParts): void {
  const users = setpoint.command('users').description('local accounts, for a site without an identity provider');
  users
    .command('add')
    .description('add an account; prints the link that sets its password, once')
    .argument('<name>', 'who it is for', accountName)
    .addOption(new Option('--role <role>', 'role of the account').choices([...roles]).makeOptionMandatory())
    .option(...jsonResultOption)
    .action((name: string, options: RoleOptions) => {
      const { role } = options;
      const result = passwordResultOf(parts, name);
      return recorded(parts, options, ['identity.user.add', name], { name, role }, async (accounts) =>
        result(await accounts.add(name, role)),
      );
    });
  users
    .command('list')
    .description('list the accounts')
    .option('--json', 'print them as JSON')
    .action((options: { readonly json?: true }) => list(parts, options.json === true));
  users
    .command('reset')
    .description('take password and sessions of an account away; prints the link that sets a new password')
    .argument('<name>', 'an account', accountName)
    .option(...jsonResultOption)
    .action((name: string, options: JsonResult) => {
      const result = passwordResultOf(parts, name);
      return recorded(parts, options, ['identity.user.reset', name], { name }, async (accounts) =>
        result(await accounts.reset(name)),
      );
    });
  users
    .command('change-role')
    .description('give an account another role; ends its sessions and revokes its tokens')
    .argument('<name>', 'an account', accountName)
    .addOption(new Option('--role <role>', 'the new role').choices([...roles]).makeOptionMandatory())
    .option(...jsonResultOption)
    .action((name: string, options: RoleOptions) => {
      const { role } = options;
      return recorded(parts, options, ['identity.user.change-role', name], { name, role }, async (accounts) => {
        const former = await accounts.changeRole(name, role);
        const text =
          former === role
            ? `${name} has the role ${role} already\n`
            : `${name} has the role ${role} instead of ${former}; its sessions have ended and its tokens are revoked\n`;
        return { data: { name, role, former_role: former }, text };
      });
    });
  users
    .command('disable')
    .description('disable an account and end its sessions')
    .argument('<name>', 'an account', accountName)
    .option(...jsonResultOption)
    .action((name: string, options: JsonResult) =>
      recorded(parts, options, ['identity.user.disable', name], { name }, async (accounts) => {
        await accounts.disable(name);
        return { data: { name, state: 'disabled' }, text: `${name} is disabled\n` };
      }),
    );
  setpoint
    .command('sign-in-link')
    .description('print a link that signs in once, as an Admin; the one before it stops working')
    .option(...jsonResultOption)
    .action((options: JsonResult) => {
      const base = baseUrlIn(parts.settings().env);
      return recorded(parts, options, ['identity.link.issue', null], {}, async (_accounts, store) => {
        const nowMs = parts.clock.wallMs();
        const link = `${base}/#code=${await issueCode(store, null, nowMs)}`;
        const until = timeLabel(nowMs + signInCodeMs);
        return { data: { link, expires_at: until }, text: `${link}\nworks once, until ${until}\n` };
      });
    });
}

interface RoleOptions extends JsonResult {
  readonly role: Role;
}

function accountName(text: string): string {
  if (!/^[A-Za-z0-9._:-]{1,128}$/.test(text)) throw new InvalidArgumentError('Give 1 to 128 of A-Z a-z 0-9 . _ : -');
  return text;
}

/** The result for the code that sets a password. Throws before anything is changed if no link can be made. */
function passwordResultOf(parts: DataDirParts, name: string): (code: string) => Result {
  const base = baseUrlIn(parts.settings().env);
  return (code) => {
    const until = timeLabel(parts.clock.wallMs() + passwordCodeMs);
    const link = `${base}${passwordLink(code)}`;
    return { data: { name, link, expires_at: until }, text: `${link}\nsets the password once, until ${until}\n` };
  };
}

async function list(parts: DataDirParts, json: boolean): Promise<void> {
  await withDatabase(parts, async ({ database, audit }) => {
    const found = (await accountsOf(parts, createSignInStore(database), audit).list()).map(accountView);
    if (json) {
      parts.terminal.out(`${JSON.stringify(found)}\n`);
      return;
    }
    printTable(
      parts.terminal,
      [
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'ROLE', cell: ({ role }) => role },
        { title: 'STATE', cell: ({ state }) => state },
        { title: 'CREATED', cell: ({ created_at: at }) => at },
      ],
      found,
    );
  });
}

function accountsOf({ clock }: DataDirParts, store: SignInStore, audit: AuditLog): Accounts {
  return new Accounts({ store, clock, limits: gatewayLimits, audit, log: silentLog });
}

/** What a command prints: `data` with `--json`. */
interface Result {
  readonly data: object;
  readonly text: string;
}

/** The record comes first: without it nothing changes. */
async function recorded(
  parts: DataDirParts,
  options: JsonResult,
  [action, name]: readonly [action: string, name: string | null],
  details: Readonly<Record<string, unknown>>,
  work: (accounts: Accounts, store: SignInStore) => Promise<Result>,
): Promise<void> {
  if (identityConfig(parts.settings().env).jwt.kind !== 'local')
    throw new CommandError(
      'accounts and sign-in links are for the local key only; with SVC_JWT_SECRET or SVC_JWT_JWKS_URL the identity provider has them',
    );
  const resource =
    name === null
      ? { kind: 'identity-token', resourceId: 'identity-token' }
      : { kind: 'identity-user', resourceId: `identity-user:${name}` };
  await withDatabase(parts, async ({ database, audit, begin }) => {
    const ended = await begin([{ action, resource, confirmation: 'not-required' }], details);
    const store = createSignInStore(database);
    try {
      const { data, text } = await work(accountsOf(parts, store, audit), store);
      await ended('succeeded', {});
      printResult(parts.terminal, options, data, text);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      await ended('failed', { error: message });
      throw new CommandError(message);
    }
  });
}
