/**
 * `setpoint history import|export|delete` [platform §7]: works on the data dir itself, beside a running service or without one.
 * An import is audited before its first row is stored and after its last one, a deletion likewise.
 */
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { formatTimestamp } from '../../base/timestamp.ts';
import type { DeletedPortion, ExportRequest, SeriesId } from '../../historian/historian.ts';
import {
  csvHeader,
  csvLine,
  type HistoryFile,
  HistoryFileError,
  jsonLine,
  openHistoryFile,
  parseSeries,
} from '../../historian/history-file.ts';
import { checkFile, type ImportReport, storeFile } from '../../historian/import.ts';
import { historyLimits } from '../../historian/limits.ts';
import { openHistorian } from '../../historian/open-historian.ts';
import type { DatabasePlace } from '../../storage/database.ts';
import { syncCommits } from '../../storage/sqlite.ts';
import { confirmedOption, readTime, unreadable } from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { prefixed } from '../failure.ts';
import { quantity, showProgress } from '../terminal.ts';
import { type DataDirParts, historyPlace, refuseOlderFormat, type Settings, withDatabase } from './data-dir.ts';
import type { BeginActs, EndActs } from './recorded-act.ts';
import { storeWaitingReadings } from './waiting-readings.ts';

/** An import may wait longer for the lock of a service than the other way round. */
const importLimits = { ...historyLimits, lock_wait_ms: 5000 };

export function addHistoryCommands(history: Command, parts: DataDirParts): void {
  const point = () =>
    new Option('--point <instance:point>', 'the measurement point, such as 2:1')
      .argParser(readSeries)
      .makeOptionMandatory();
  history
    .command('import')
    .description('store the values of a CSV file: time,value or time,value,quality, or a column for each point')
    .argument('<file>')
    .addOption(point().makeOptionMandatory(false))
    .option('--once', 'leave out rows whose time, value and quality are stored already')
    .option('--ingested-at-event-time', 'store them as if each had been recorded at its own time')
    .option('--json', 'print the report as JSON')
    .action((path: string, options: ImportOptions) => importCommand(parts, path, options));
  history
    .command('export')
    .description('print stored values by time')
    .addOption(point())
    .option('--from <time>', 'the first time', readTime)
    .option('--to <time>', 'the last time', readTime)
    .option('--as-known-at <time>', 'only what had been ingested by then', readTime)
    .addOption(new Option('--csv', 'as CSV that can be imported (the default)').conflicts('json'))
    .option('--json', 'as JSON Lines, with ingestion times')
    .action((options: ExportOptions) => exportCommand(parts, options));
  history
    .command('delete')
    .description('delete stored values of one point for good')
    .addOption(point())
    .requiredOption('--from <time>', 'the first time', readTime)
    .requiredOption('--to <time>', 'the end: values at this time stay', readTime)
    .option(...confirmedOption)
    .option('--json', 'print the report as JSON')
    .action((options: DeleteOptions) => deleteCommand(parts, options));
}

interface ImportOptions {
  readonly point?: SeriesId;
  readonly once?: true;
  readonly ingestedAtEventTime?: true;
  readonly json?: true;
}

interface ExportOptions {
  readonly point: SeriesId;
  readonly from?: number;
  readonly to?: number;
  readonly asKnownAt?: number;
  readonly json?: true;
}

interface DeleteOptions {
  readonly point: SeriesId;
  readonly from: number;
  readonly to: number;
  readonly confirmed?: true;
  readonly json?: true;
}

function readSeries(text: string): SeriesId {
  const series = parseSeries(text);
  if (series === null) throw new InvalidArgumentError('Give instance and point, such as 2:1');
  return series;
}

/** A typing error in the point must not create a series that nothing reads. */
function checkPoint(parts: DataDirParts, { configDir }: Settings, { instance, point }: SeriesId): void {
  const known = parts
    .site(configDir)
    .points.some(
      (candidate) => candidate.kind === 'measurement' && candidate.instance === instance && candidate.id === point,
    );
  if (!known) throw new CommandError(`site.yaml has no measurement point ${instance}:${point}`);
}

async function importCommand(parts: DataDirParts, path: string, options: ImportOptions): Promise<void> {
  const settings = parts.settings();
  const nowMs = parts.clock.wallMs();
  const file = opened(path, nowMs);
  const progress = showProgress(parts.terminal);
  try {
    const series = pointsOf(file, options);
    for (const each of series) checkPoint(parts, settings, each);
    const checked = checkFile(file);
    const store = async (onStored: (rows: number) => void): Promise<ImportReport> => {
      const place = historyPlace(parts);
      const historian = openHistorian(place, importLimits);
      const ingestedAt = options.ingestedAtEventTime === true ? 'event-time' : nowMs;
      try {
        const plan = { series: options.point ?? null, ingestedAt, once: options.once === true } as const;
        const told = (rows: number): void => {
          onStored(rows);
          progress.at(`${rows} of ${checked.rows} rows stored`);
        };
        const report = await storeFile(historian, file, plan, parts.clock, told);
        syncHistory(place);
        return { ...checked, ...report };
      } finally {
        await historian.close();
      }
    };
    const report = await withDatabase(parts, ({ begin }) =>
      auditedImport(begin, series, options, basename(path), store),
    );
    progress.end();
    printReport(parts, report, options);
  } catch (error) {
    throw error instanceof HistoryFileError ? new CommandError(`nothing was stored:\n${error.message}`) : error;
  } finally {
    progress.end();
    file.close();
  }
}

/** The points of the file, or the given one. */
function pointsOf(file: HistoryFile, { point }: ImportOptions): readonly SeriesId[] {
  if (file.series !== null && point !== undefined)
    throw new CommandError('the file names its points: leave --point out', exitCodes.notConfirmed);
  if (file.series !== null) return file.series;
  if (point === undefined)
    throw new CommandError(
      'the file does not name its point: give --point, such as --point 2:1',
      exitCodes.notConfirmed,
    );
  return [point];
}

function opened(path: string, nowMs: number) {
  try {
    return openHistoryFile(path, basename(path), nowMs);
  } catch (error) {
    if (error instanceof HistoryFileError) throw new CommandError(`nothing was stored:\n${error.message}`);
    throw unreadable(path, error);
  }
}

/** A durable record precedes the first row; a second one records the outcome. */
async function auditedImport(
  begin: BeginActs,
  series: readonly SeriesId[],
  options: ImportOptions,
  fileName: string,
  work: (onStored: (rows: number) => void) => Promise<ImportReport>,
): Promise<ImportReport> {
  const asked = {
    file: fileName,
    ingested_at_event_time: options.ingestedAtEventTime === true,
    once: options.once === true,
  };
  const end = await begin(
    series.map(({ instance, point }) => ({
      action: 'history.import',
      resource: { kind: 'history-series', resourceId: `history-series:${instance}:${point}` },
      confirmation: 'not-required',
    })),
    asked,
  );
  let stored = 0;
  try {
    const report = await work((rows) => {
      stored = rows;
    });
    await end('succeeded', reportView(report));
    return report;
  } catch (error) {
    await end('failed', { rows: stored });
    if (stored === 0 || !(error instanceof Error)) throw error;
    throw new CommandError(`the import ended early; stored before that: ${quantity(stored, 'row')}: ${error.message}`);
  }
}

/** A durable record precedes the deletion; a second one records the outcome. */
async function deleteCommand(parts: DataDirParts, options: DeleteOptions): Promise<void> {
  const { point, from, to } = options;
  const span = { from: formatTimestamp(from), to: formatTimestamp(to) };
  const named = `${point.instance}:${point.point}`;
  if (to <= from) throw new CommandError('--to must be later than --from', exitCodes.notConfirmed);
  if (options.confirmed !== true)
    throw new CommandError(
      `this would delete the values of ${named} from ${span.from} until before ${span.to} for good. Nothing was done; give --confirmed to do it`,
      exitCodes.notConfirmed,
    );
  const rows = await withDatabase(parts, async ({ begin }) => {
    const act = {
      action: 'historian.series.delete',
      resource: { kind: 'automation-point', resourceId: `automation-point:${point.instance}:M:${point.point}` },
      confirmation: 'explicit',
    } as const;
    const end = await begin([act], span);
    return deleteRows(parts, options, end);
  });
  if (options.json === true) parts.terminal.out(`${JSON.stringify({ rows, ...span })}\n`);
  else parts.terminal.out(`deleted ${quantity(rows, 'row')} of ${named}\n`);
}

async function deleteRows(parts: DataDirParts, { point, from, to }: DeleteOptions, end: EndActs): Promise<number> {
  const place = historyPlace(parts);
  const historian = openHistorian(place, importLimits);
  const progress = showProgress(parts.terminal);
  let rows = 0;
  try {
    await storeWaitingReadings(parts, historian);
    for (let next: number | null = from; next !== null; ) {
      const portion: DeletedPortion = await historian.delete({ series: point, fromMs: next, toMs: to });
      rows += portion.rows;
      next = portion.nextMs;
      progress.at(`${rows} rows deleted`);
    }
    syncHistory(place);
    await end('succeeded', { rows });
    return rows;
  } catch (error) {
    await end('failed', { rows });
    if (rows === 0 || !(error instanceof Error)) throw error;
    throw new CommandError(`the deletion ended early; deleted before that: ${quantity(rows, 'row')}: ${error.message}`);
  } finally {
    progress.end();
    await historian.close();
  }
}

function reportView(report: ImportReport) {
  const shown = (ms: number | null): string | null => (ms === null ? null : formatTimestamp(ms));
  return {
    rows: report.rows,
    duplicates: report.duplicates,
    skipped: report.skipped,
    first: shown(report.firstMs),
    last: shown(report.lastMs),
  };
}

function printReport({ terminal }: DataDirParts, report: ImportReport, options: ImportOptions): void {
  if (options.json === true) {
    terminal.out(`${JSON.stringify(reportView(report))}\n`);
    return;
  }
  const { first, last } = reportView(report);
  const span = first === null ? '' : `, ${first} to ${last}`;
  terminal.out(`stored ${quantity(report.rows - report.skipped, 'row')}${span}\n`);
  if (report.skipped > 0) terminal.out(`${report.skipped} were stored already and left out\n`);
  if (report.duplicates > 0)
    terminal.out(`${report.duplicates} of them came to times that had a row already; the later one counts\n`);
}

/** Rows must be as durable as the audit record about them. */
function syncHistory(place: DatabasePlace): void {
  if (typeof place === 'string') syncCommits(place);
}

async function exportCommand(parts: DataDirParts, options: ExportOptions): Promise<void> {
  const settings = parts.settings();
  const request: ExportRequest = {
    series: options.point,
    ...(options.from === undefined ? {} : { fromMs: options.from }),
    ...(options.to === undefined ? {} : { toMs: options.to }),
    ...(options.asKnownAt === undefined ? {} : { knownAtMs: options.asKnownAt }),
  };
  const place = historyPlace(parts);
  if (typeof place === 'string' && !existsSync(place))
    throw new CommandError(`no history in the data dir ${settings.dataDir}`);
  await refuseOlderFormat(place, settings.dataDir);
  const historian = openHistorian(place, importLimits);
  const line = options.json === true ? jsonLine : csvLine;
  const lines = async function* (): AsyncIterableIterator<string> {
    // Created with the first rows, so that an unreadable store does not leave an empty one behind.
    let header = options.json === true ? '' : csvHeader;
    let empty = true;
    await storeWaitingReadings(parts, historian);
    for await (const rows of historian.export(request)) {
      yield header + rows.map(line).join('');
      header = '';
      empty &&= rows.length === 0;
    }
    if (empty) {
      // A removed point keeps its history; only a point without any is an error.
      checkPoint(parts, settings, options.point);
      parts.terminal.error(prefixed(`nothing is recorded for ${nameOf(options)}`));
    }
    yield header;
  };
  try {
    await pipeline(Readable.from(lines()), parts.terminal.stdout, { end: false });
  } catch (error) {
    // A closed pipe ends the reading, as with `head`.
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EPIPE' && code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  } finally {
    await historian.close();
  }
}

/** The point, and that more than one was given. */
function nameOf({ point, from, to, asKnownAt }: ExportOptions): string {
  const asked = [from, to, asKnownAt].some((time) => time !== undefined) ? ' in what was asked for' : '';
  return `${point.instance}:${point.point}${asked}`;
}

/** With the rules and the audit: in the data dir, or in the same server. */
