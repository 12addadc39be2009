/** `setpoint points read|watch|write` [points §8.7]: one point by its reference, for commissioning. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Static } from 'typebox';
import { points } from '../../api/points.ts';
import { sleep } from '../../base/clock.ts';
import {
  type CommandLine,
  confirmedOption,
  finiteNumber,
  type JsonResult,
  jsonOption,
  printJson,
  printResult,
} from '../command-line.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { change } from '../remote.ts';
import { showing, watchSeconds } from '../watch.ts';

type Entry = Static<(typeof points)['list']['answer']>['data']['list'][number];

interface Reference {
  readonly instance: string;
  readonly kind: 'measurement' | 'action';
  readonly point: string;
}

/** How long `write` holds its value, in seconds, and how often it polls for the result. */
const writeSeconds = 5;
const lookMs = 200;
const pageSize = '500';

export function addPointTools(group: Command, line: CommandLine): void {
  group
    .command('read')
    .description('print the value of a point; exit code 1 if it has no usable value')
    .argument('<point>', 'such as 2:measurement:1, 4:action:1 or, for a measurement, 2:1', reference)
    .option(...jsonOption)
    .action((point: Reference, { json }: { readonly json?: true }) => read(line, point, json === true));
  group
    .command('watch')
    .description('print a line for each change of these points, until interrupted')
    .argument('<points...>', 'references such as 2:1 4:action:1', references)
    .option('--every <seconds>', 'poll interval', watchSeconds, 1)
    .option('--json', 'print the entry of the point as a line of JSON')
    .action((wanted: readonly Reference[], options: WatchOptions) => watch(line, wanted, options));
  group
    .command('write')
    .description(`hold an action point at a value for ${writeSeconds} s and print the result of the command`)
    .argument('<point>', 'such as 4:action:1', reference)
    .argument('<value>', 'in the unit of the point', finiteNumber)
    .requiredOption('--reason <text>', 'why, 3 to 500 characters')
    .option(...confirmedOption)
    .option('--json', 'print the entry of the point as JSON')
    .action((point: Reference, value: number, options: WriteOptions) => write(line, point, value, options));
}

function reference(text: string): Reference {
  const [, instance, kind = 'measurement', point] =
    /^(0|[1-9][0-9]{0,9}):(?:(measurement|action):)?(0|[1-9][0-9]{0,9})$/.exec(text) ?? [];
  if (instance === undefined || point === undefined)
    throw new InvalidArgumentError('Give a point such as 2:measurement:1, 4:action:1 or 2:1.');
  return { instance, kind: kind as Reference['kind'], point };
}

function references(text: string, before: readonly Reference[] = []): readonly Reference[] {
  return [...before, reference(text)];
}

const words = ({ instance, kind, point }: Reference): string => `${instance}:${kind}:${point}`;

async function entryOf(line: CommandLine, wanted: Reference): Promise<Entry> {
  const { instance, kind, point } = wanted;
  for (let page = 1; ; page++) {
    const { data } = await line
      .remote()
      .call(points.list, { query: { instance, kind, page: String(page), page_size: pageSize } });
    const found = data.data.list.find((entry) => String(entry.point) === point);
    if (found !== undefined) return found;
    if (!data.data.has_next) throw new CommandError(`the site has no point ${words(wanted)}`);
  }
}

function shown({ value, text, unit, quality }: Entry): string {
  if (text !== null) return text;
  return value === null ? `no value (${quality})` : `${value} ${unit}${quality === 'good' ? '' : ` (${quality})`}`;
}

async function read(line: CommandLine, wanted: Reference, json: boolean): Promise<void> {
  const entry = await entryOf(line, wanted);
  if (json) printJson(line.terminal, entry);
  else if (entry.value !== null || entry.text !== null) line.terminal.out(`${shown(entry)}\n`);
  if (entry.value === null && entry.text === null)
    throw new CommandError(
      `${words(wanted)} ${entry.name} has ${shown(entry)}${entry.last_error === null ? '' : `: ${entry.last_error.message}`}`,
    );
}

interface WatchOptions extends JsonResult {
  readonly every: number;
}

async function watch(line: CommandLine, wanted: readonly Reference[], options: WatchOptions): Promise<void> {
  const last = new Map<string, string>();
  // Not redrawn like a table: each change stays as a line.
  const terminal = { ...line.terminal, outIsTerminal: false };
  await showing({ ...line, terminal }, options.every, async () => {
    for (const each of wanted) {
      const entry = await entryOf(line, each);
      const now = shown(entry);
      if (last.get(words(each)) === now) continue;
      last.set(words(each), now);
      const at = entry.observed_at ?? new Date(line.clock.wallMs()).toISOString();
      printResult(terminal, options, entry, `${at} ${words(each)} ${entry.name} ${now}\n`);
    }
  });
}

interface WriteOptions extends JsonResult {
  readonly reason: string;
  readonly confirmed?: true;
}

async function write(line: CommandLine, wanted: Reference, value: number, options: WriteOptions): Promise<void> {
  if (wanted.kind !== 'action')
    throw new CommandError(`${words(wanted)} is a measurement: only action points are written`, exitCodes.notConfirmed);
  const remote = line.remote();
  const { data: override } = await change(remote, line.terminal, {
    capability: points.override,
    input: {
      params: { instance: wanted.instance, point: wanted.point },
      body: { value, for_seconds: writeSeconds, reason: options.reason },
    },
    what: `hold ${words(wanted)} at ${value} for ${writeSeconds} s`,
    confirmed: options.confirmed === true,
  });
  const endMs = line.clock.monotonicMs() + writeSeconds * 1000;
  while (line.clock.monotonicMs() < endMs && !line.interrupted.aborted) {
    const entry = await entryOf(line, wanted);
    const { last_command: last, unit, last_error: error } = entry;
    // Not by its time: the clock of the service may be another one.
    if (last?.by.id === override.data.override_id && last.result !== 'accepted') {
      if (last.result !== 'written')
        throw new CommandError(`${words(wanted)}: ${last.result}${error === null ? '' : `: ${error.message}`}`);
      printResult(line.terminal, options, entry, `${words(wanted)}: ${last.written} ${unit} written\n`);
      return;
    }
    await sleep(line.clock, lookMs, line.interrupted).catch(() => undefined);
  }
  throw new CommandError(`${words(wanted)}: the device did not confirm the command in ${writeSeconds} s`);
}
