/**
 * `setpoint audit verify` and `setpoint audit export` (decisions §3 "Store"). Both only read: beside a running service, on
 * the data dir of a stopped one, or on a copy. Exit code 1 when anything does not hold.
 */
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { ChainReport } from '../audit/chain-walk.ts';
import { exportLines, verifyExport } from '../audit/export-file.ts';
import { keyName } from '../audit/statement.ts';
import { auditFiles, auditKeyOf } from '../audit/trail.ts';
import { gatherEvidence, nameOf, type TrailReport, verifyScan } from '../audit/verify.ts';
import { systemClock } from '../base/clock.ts';
import { readIfThere } from '../base/own-file.ts';
import { type AuditScan, scanAudit } from '../storage/audit-scan.ts';
import { readLimits, type ServiceConfig, StartError } from './config.ts';
import { siteDatabase } from './databases.ts';

interface VerifyOptions {
  readonly anchor?: string;
  readonly key?: readonly string[];
  readonly file?: string;
  /** False with --no-details. */
  readonly details: boolean;
  readonly json?: true;
}

export function addAuditCommands(setpoint: Command, config: () => ServiceConfig): void {
  const audit = setpoint.command('audit').description('the audit trail of the data dir');
  audit
    .command('verify')
    .description('check that no audit event was changed, removed or moved')
    .option('--anchor <file>', 'checkpoints that were kept elsewhere')
    .option('--key <key...>', 'the only keys to believe, as checkpoints name them')
    .option('--file <export>', 'verify an export instead of the data dir')
    .option('--no-details', 'leave out the details kept beside the events')
    .option('--json', 'print the report as JSON')
    .action(async (options: VerifyOptions) => {
      const report =
        options.file === undefined ? await verifyData(config(), options) : await verifyFile(options.file, options);
      const good = report.problems.length === 0 && report.chains.every((chain) => chain.broken === null);
      process.stdout.write(
        options.json === true
          ? `${JSON.stringify({ good, ...report })}\n`
          : textOf(report, options.anchor !== undefined),
      );
      process.exitCode = good ? 0 : 1;
    });
  audit
    .command('export')
    .description('print the whole trail as JSON Lines, which `audit verify --file` checks without the database')
    .action(() => exportData(config()));
}

async function verifyData(config: ServiceConfig, options: VerifyOptions): Promise<TrailReport> {
  const facts = factsOf(config);
  const scan = await openScan(config);
  try {
    const evidence = gatherEvidence({ ...evidenceOf(options), checkpoints: facts.checkpoints, ownKey: facts.key });
    return await verifyScan(scan, evidence, { withDetails: options.details });
  } finally {
    await scan.close();
  }
}

async function verifyFile(file: string, options: VerifyOptions): Promise<TrailReport> {
  const verifier = verifyExport(evidenceOf(options));
  if (!existsSync(file)) throw new StartError(`${file}: there is no such file`);
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY }))
    verifier.line(line);
  return verifier.finish();
}

async function exportData(config: ServiceConfig): Promise<void> {
  const facts = factsOf(config);
  const scan = await openScan(config);
  try {
    const exportedAt = new Date(systemClock.wallMs()).toISOString();
    await pipeline(exportLines(scan, { ...facts, exportedAt }), process.stdout, { end: false });
  } finally {
    await scan.close();
  }
}

async function openScan(config: ServiceConfig): Promise<AuditScan> {
  const place = siteDatabase(config, readLimits(config.configDir).storage);
  if (typeof place === 'string' && !existsSync(place))
    throw new StartError(`there is no site database in ${config.dataDir}: set SVC_DATA_DIR to the service's data dir`);
  try {
    return await scanAudit(place);
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error));
  }
}

/** What the data dir itself holds as evidence. Read before the events: a running service goes on signing. */
function factsOf(config: ServiceConfig): { readonly key: string | null; readonly checkpoints: string | null } {
  const files = auditFiles(config.dataDir);
  const pem = readIfThere(files.key);
  return { key: pem === null ? null : keyName(auditKeyOf(pem).publicKey), checkpoints: readIfThere(files.checkpoints) };
}

function evidenceOf(options: VerifyOptions): { readonly keys: readonly string[]; readonly anchor: string | null } {
  const { anchor, key: keys = [] } = options;
  if (anchor === undefined) return { keys, anchor: null };
  if (!existsSync(anchor)) throw new StartError(`${anchor}: there is no such file`);
  return { keys, anchor: readFileSync(anchor, 'utf8') };
}

function textOf(report: TrailReport, anchored: boolean): string {
  const lines = report.chains.flatMap((chain) => [...linesOf(chain, anchored), '']);
  for (const problem of report.problems) lines.push(`PROBLEM: ${problem}`);
  if (report.chains.length === 0) lines.push('there are no audit events');
  return `${lines.join('\n').trimEnd()}\n`;
}

function linesOf(chain: ChainReport, anchored: boolean): string[] {
  const { first, last, broken } = chain;
  const name = nameOf(chain.owner);
  if (broken !== null) return [name, `  BROKEN at sequence ${broken.sequence} (${broken.kind}): ${broken.reason}`];
  const range = first === null ? 'no events' : `${first} to ${last}: ${chain.events} events, ${chain.details} details`;
  const lines = [name, `  ${range}, unbroken`];
  const local = tailOf(last ?? 0, chain.coveredLocally);
  lines.push(`  checkpoints of the data dir reach ${chain.coveredLocally}; not covered yet: ${local}`);
  if (anchored) {
    const external = tailOf(last ?? 0, chain.coveredExternally);
    lines.push(`  the anchor reaches ${chain.coveredExternally}; not covered by it: ${external}`);
  } else lines.push('  no anchor given: whoever can write to the data dir could have rewritten all of it');
  return lines;
}

function tailOf(last: number, covered: number): string {
  return covered >= last ? 'nothing' : `${last - covered} events, ${covered + 1} to ${last}`;
}
