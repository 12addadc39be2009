/** `setpoint audit key`, `verify-proof` and `acknowledge-break` [audit §9]: without a running service. */
import type { Command } from 'commander';
import { acknowledgeBreak } from '../../audit/acknowledge-break.ts';
import { type AuditLogName, nameOf } from '../../audit/store/chain.ts';
import { auditFiles, auditKeyOf } from '../../audit/trail.ts';
import { readIfThere } from '../../base/own-file.ts';
import { checkProof } from '../../transparency/proof-file.ts';
import { formatVerifier, keyTypes } from '../../transparency/signed-note.ts';
import { nodeCryptography, noteSigner } from '../../transparency/signing.ts';
import {
  confirmedOption,
  type JsonResult,
  jsonResultOption,
  printJson,
  readText,
  recordedReason,
} from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { verifyDataDir } from './audit-command.ts';
import { type DataDirParts, forPerson, withDatabase } from './data-dir.ts';
import { verifierOf } from './verifier-option.ts';

interface ProofOptions {
  readonly key: string;
  readonly witness?: readonly string[];
  readonly hash?: string;
  readonly json?: true;
}

interface AcknowledgeOptions extends JsonResult {
  readonly log?: AuditLogName;
  readonly reason: string;
  readonly confirmed?: true;
}

export function addAuditProofCommands(audit: Command, parts: DataDirParts): void {
  audit
    .command('key')
    .description('print the key of each audit log, which verifiers and witnesses are given (vkey)')
    .option('--json', 'print them as JSON')
    .action((options: { readonly json?: true }) => printKeys(parts, options));
  audit
    .command('verify-proof')
    .description('check a proof that an event is in a log: needs this file and the keys, nothing else')
    .argument('<file>', 'the proof')
    .requiredOption('--key <vkey>', 'key of the log, as `audit key` prints it')
    .option('--witness <vkey...>', 'key of a witness that must have cosigned')
    .option('--hash <hex>', 'the hash that the writer of the event was given (x-svc-audit-hash)')
    .option('--json', 'print the result as JSON')
    .action((file: string, options: ProofOptions) => verifyProof(parts, file, options));
  audit
    .command('acknowledge-break')
    .description('record that a log was found broken, and let it be signed anew from there')
    .requiredOption('--reason <text>', 'what happened, 3 to 500 characters', recordedReason)
    .option('--log <log>', 'events or access, also when only a witness noticed; else those that do not verify')
    .option(...confirmedOption)
    .option(...jsonResultOption)
    .action((options: AcknowledgeOptions) => acknowledge(parts, options));
}

const noCheckpoint =
  'no log has a checkpoint yet: the service signs the first one for the first proof that is asked for, when it stops, or `checkpoint_interval_ms` (10 minutes) after its first event';

async function printKeys(parts: DataDirParts, options: { readonly json?: true }): Promise<void> {
  await withDatabase(parts, async ({ database }) => {
    const pem = forPerson(() => readIfThere(auditFiles(parts.settings().dataDir).key));
    if (pem === null) throw new CommandError('audit-key.pem not found: start the service once, or set SVC_DATA_DIR');
    const key = forPerson(() => auditKeyOf(pem));
    const trees = await database.query
      .selectFrom('audit_tree')
      .select('origin')
      .orderBy('chain_id')
      .orderBy('segment')
      .execute();
    const keys = await Promise.all(
      trees.map(async ({ origin }) => formatVerifier((await noteSigner(origin, key)).verifier)),
    );
    if (keys.length === 0) throw new CommandError(noCheckpoint);
    parts.terminal.out(options.json === true ? `${JSON.stringify({ keys })}\n` : `${keys.join('\n')}\n`);
  });
}

async function verifyProof({ terminal }: DataDirParts, file: string, options: ProofOptions): Promise<void> {
  const proof = readText(file);
  if (options.hash !== undefined && !/^[0-9a-f]{64}$/.test(options.hash))
    throw new CommandError('--hash must be 64 lowercase hexadecimal digits', exitCodes.notConfirmed);
  const log = await verifierOf(options.key, keyTypes.log, '--key');
  const witnesses = await Promise.all(
    (options.witness ?? []).map((vkey) => verifierOf(vkey, keyTypes.witness, '--witness')),
  );
  const question = { log, witnesses, hash: options.hash ?? null };
  const answer = await checkProof(proof, question, nodeCryptography);
  if (!answer.holds) throw new CommandError(`the proof is not valid: ${answer.reason}`);
  const { head, index, hash, text, cosignatures } = answer;
  const event: unknown = JSON.parse(text);
  const times = cosignatures.map(({ name, timeSeconds }) => ({ name, at: timeLabelOf(timeSeconds) }));
  if (options.json === true) {
    const found = { holds: true, origin: head.origin, size: head.size, index, hash, event, cosignatures: times };
    terminal.out(`${JSON.stringify(found)}\n`);
    return;
  }
  const lines = [
    `the event is entry ${index} of ${head.origin}, which had ${head.size} entries`,
    ...times.map(({ name, at }) => `cosigned by ${name} at ${at}`),
    `hash ${hash}`,
    JSON.stringify(event, null, 2),
  ];
  terminal.out(`${lines.join('\n')}\n`);
}

function timeLabelOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

async function acknowledge(parts: DataDirParts, given: AcknowledgeOptions): Promise<void> {
  const { terminal } = parts;
  const { log, reason, confirmed } = given;
  if (log !== undefined && log !== 'events' && log !== 'access')
    throw new CommandError('--log must be events or access', exitCodes.notConfirmed);
  const options = { details: false };
  const { chains } = await verifyDataDir(terminal, parts.settings().dataDir, parts.siteDatabase(), options);
  const meant = chains.filter((chain) => (log === undefined ? chain.broken !== null : chain.owner.log === log));
  if (meant.length === 0) throw new CommandError('no log is broken: there is nothing to acknowledge');
  if (confirmed !== true)
    throw new CommandError(
      `This would begin ${meant.map(({ owner }) => nameOf(owner)).join(', ')} anew: witnesses and holders of checkpoints will see a new log. Add --confirmed to do it.`,
      exitCodes.notConfirmed,
    );
  await withDatabase(parts, async ({ database }) => {
    const begun = [];
    for (const { owner, broken } of meant) {
      const { origin, sequence } = await acknowledgeBreak({ database, clock: parts.clock }, owner, {
        reason,
        broken,
        osUser: parts.osUser(),
      });
      begun.push({ log: nameOf(owner), origin, sequence: String(sequence) });
      // At once: the next one may fail.
      if (given.json !== true) terminal.out(`${nameOf(owner)} goes on as ${origin} from sequence ${sequence}\n`);
    }
    if (given.json === true) printJson(terminal, begun);
  });
}
