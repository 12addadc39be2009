/**
 * `setpoint audit verify` and `setpoint audit export` [audit §6]. Both only read: beside a running service, on
 * the data dir of a stopped one, or on a copy. Exit code 1 if verification fails.
 */
import { createReadStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { type EvidenceSources, gatherEvidence } from '../../audit/evidence.ts';
import { exportLines, verifyExport } from '../../audit/export-file.ts';
import { keyName } from '../../audit/statement.ts';
import { nameOf } from '../../audit/store/chain.ts';
import type { ChainReport } from '../../audit/store/chain-walk.ts';
import { type AuditScan, scanAudit } from '../../audit/store/scan.ts';
import { auditFiles, auditKeyOf } from '../../audit/trail.ts';
import { type TrailReport, trailHolds, verifyScan } from '../../audit/verify.ts';
import { RecordedRules } from '../../automation/recorded-rules.ts';
import { readIfThere } from '../../base/own-file.ts';
import { siteSchema } from '../../databases/schemas.ts';
import type { DatabasePlace } from '../../storage/database.ts';
import { keyTypes, type Verifier } from '../../transparency/signed-note.ts';
import { readText, unreadable } from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { quantity, showProgress, type Terminal } from '../terminal.ts';
import { type DataDirParts, forPerson, forPersonLater } from './data-dir.ts';
import { believedKey, verifierOf } from './verifier-option.ts';

interface VerifyOptions {
  readonly anchor?: string;
  readonly key?: readonly string[];
  readonly file?: string;
  /** Keys of witnesses whose cosigned heads count. */
  readonly witness?: readonly string[];
  /** False with --no-details. */
  readonly details: boolean;
  readonly json?: true;
}

export function addAuditFileCommands(audit: Command, parts: DataDirParts): void {
  const { terminal } = parts;
  audit
    .command('verify')
    .description('check that no audit event of the data dir was changed, removed or moved')
    .option('--anchor <file>', 'an anchor stored elsewhere: checkpoints, one checkpoint as a note, or a proof')
    .option('--key <key...>', 'the only keys to believe, as `audit key` or checkpoints name them')
    .option('--witness <vkey...>', 'keys of witnesses: the newest head that is kept here must be cosigned by each')
    .option('--file <export>', 'verify an export instead of the data dir')
    .option('--no-details', 'leave out the details kept beside the events')
    .option('--json', 'print the report as JSON')
    .action(async (options: VerifyOptions) => {
      const report =
        options.file === undefined
          ? await verifyDataDir(terminal, parts.settings().dataDir, parts.siteDatabase(), options)
          : await verifyFile(parts, options.file, options);
      const good = trailHolds(report) && report.edited.length === 0;
      terminal.out(options.json === true ? `${JSON.stringify({ good, ...report })}\n` : textOf(report, options));
      if (!good) throw new CommandError('audit verification failed', exitCodes.failed);
    });
  audit
    .command('export')
    .description('print the whole trail as JSON Lines, which `audit verify --file` checks without the database')
    .option('--json', 'the same: every line is JSON')
    .action(() => exportData(parts));
}

/** The contents of the data dir compared with its audit. */
export interface DataDirReport extends TrailReport {
  /** Rules that were changed directly in the database, one sentence each. */
  readonly edited: readonly string[];
}

/** Long work reports its progress every so many events. */
const progressEvents = 10_000;

export async function verifyDataDir(
  terminal: Terminal,
  dataDir: string,
  place: DatabasePlace,
  options: VerifyOptions,
): Promise<DataDirReport> {
  const facts = factsOf(dataDir);
  const scan = await openScan(dataDir, place);
  const progress = showProgress(terminal);
  try {
    const evidence = gatherEvidence({
      ...(await evidenceOf(options)),
      checkpoints: facts.checkpoints,
      ownKey: facts.key,
    });
    const watched = { ...scan, events: counted(scan, (events) => progress.at(`${events} events checked`)) };
    const witnesses = await witnessesOf(options);
    const recorded = new RecordedRules();
    const report = await verifyScan(watched, evidence, {
      withDetails: options.details,
      witnesses,
      onRecord({ log }, { event, details = null }) {
        if (log === 'events' && options.details) recorded.add({ ...event, details });
      },
    });
    // With a broken log there is nothing to compare.
    if (!options.details || report.chains.some(({ broken }) => broken !== null)) return { ...report, edited: [] };
    const isWhole = report.chains.every(({ first }) => first === null || first === 1);
    return { ...report, edited: recorded.compare(await scan.rules(), isWhole) };
  } finally {
    progress.end();
    await scan.close();
  }
}

/** The events of a scan, with progress reports. */
function counted(scan: AuditScan, tell: (events: number) => void): AuditScan['events'] {
  let seen = 0;
  let told = 0;
  return async function* (chainId, withDetails) {
    for await (const events of scan.events(chainId, withDetails)) {
      seen += events.length;
      if (seen - told >= progressEvents) tell((told = seen));
      yield events;
    }
  };
}

async function verifyFile(parts: DataDirParts, file: string, options: VerifyOptions): Promise<DataDirReport> {
  const verifier = verifyExport({ ...(await evidenceOf(options)), witnesses: await witnessesOf(options) });
  const progress = showProgress(parts.terminal);
  let lines = 0;
  for await (const line of exportedLines(file)) {
    await verifier.line(line);
    if (++lines % progressEvents === 0) progress.at(`${lines} lines checked`);
  }
  progress.end();
  return { ...verifier.finish(), edited: [] };
}

async function* exportedLines(file: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw unreadable(file, error);
  }
}

async function exportData({ settings, siteDatabase, clock, terminal }: DataDirParts): Promise<void> {
  const { dataDir } = settings();
  const place = siteDatabase();
  const facts = factsOf(dataDir);
  const scan = await openScan(dataDir, place);
  const progress = showProgress(terminal);
  try {
    const exportedAt = new Date(clock.wallMs()).toISOString();
    // On a terminal the lines themselves are the progress.
    const watched = terminal.outIsTerminal
      ? scan
      : { ...scan, events: counted(scan, (events) => progress.at(`${events} events written`)) };
    await pipeline(exportLines(watched, { ...facts, exportedAt }), terminal.stdout, { end: false });
  } finally {
    progress.end();
    await scan.close();
  }
}

async function openScan(dataDir: string, place: DatabasePlace): Promise<AuditScan> {
  if (typeof place === 'string' && !existsSync(place))
    throw new CommandError(`no site database in ${dataDir}: set SVC_DATA_DIR to the service's data dir`);
  return forPersonLater(() => scanAudit(place, siteSchema));
}

/** The checkpoints in the data dir. Read before the events: a running service continues to sign. */
function factsOf(dataDir: string): { readonly key: string | null; readonly checkpoints: string | null } {
  const files = auditFiles(dataDir);
  return forPerson(() => {
    const pem = readIfThere(files.key);
    const key = pem === null ? null : keyName(auditKeyOf(pem).publicKey);
    return { key, checkpoints: readIfThere(files.checkpoints) };
  });
}

function witnessesOf({ witness = [] }: VerifyOptions): Promise<Verifier[]> {
  return Promise.all(witness.map((vkey) => verifierOf(vkey, keyTypes.witness, '--witness')));
}

async function evidenceOf({ anchor, key = [] }: VerifyOptions): Promise<Pick<EvidenceSources, 'keys' | 'anchor'>> {
  const keys = await Promise.all(key.map(believedKey));
  if (anchor === undefined) return { keys, anchor: null };
  return { keys, anchor: readText(anchor) };
}

function textOf(report: DataDirReport, options: VerifyOptions): string {
  const lines = report.chains.flatMap((chain) => [...linesOf(chain, options), '']);
  for (const problem of [...report.problems, ...report.edited]) lines.push(`PROBLEM: ${problem}`);
  if (report.chains.length === 0) lines.push('no audit events');
  return `${lines.join('\n').trimEnd()}\n`;
}

function linesOf(chain: ChainReport, { anchor, file, key = [], details }: VerifyOptions): string[] {
  const { first, last, broken } = chain;
  const name = nameOf(chain.owner);
  if (broken !== null && chain.acknowledgedBy !== null) {
    const known = `acknowledged by event ${chain.acknowledgedBy}, with which the log begins anew`;
    return [name, `  broken at sequence ${broken.sequence} (${broken.kind}): ${broken.reason}`, `  ${known}`];
  }
  if (broken !== null) return [name, `  BROKEN at sequence ${broken.sequence} (${broken.kind}): ${broken.reason}`];
  const ofDetails = details ? `${chain.details} with details` : 'details not checked';
  const range = first === null ? 'no events' : `${first} to ${last}: ${quantity(chain.events, 'event')}, ${ofDetails}`;
  const lines = [name, `  ${range}, unbroken`];
  const local = tailOf(last ?? 0, chain.coveredLocally);
  const own = file === undefined ? 'the data dir' : 'the export';
  lines.push(`  checkpoints of ${own} reach ${chain.coveredLocally}; not covered yet: ${local}`);
  if (anchor !== undefined) {
    const external = tailOf(last ?? 0, chain.coveredExternally);
    lines.push(`  the anchor reaches ${chain.coveredExternally}; not covered by it: ${external}`);
  } else {
    // An export names a key itself. Whoever has the trusted one also has the data dir.
    const place = key.length === 0 ? own : 'the data dir';
    lines.push(`  no anchor given: anyone who can write to ${place} could have rewritten all of it`);
  }
  return lines;
}

function tailOf(last: number, covered: number): string {
  if (covered >= last) return 'nothing';
  return `${quantity(last - covered, 'event')}, ${covered + 1} to ${last}`;
}
