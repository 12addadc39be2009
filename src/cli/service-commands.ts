/** `setpoint scheduler …`, `instances` and `audit search`: what a running service says of itself [platform §7]. */
import { type Command, Option } from 'commander';
import type { Static } from 'typebox';
import { auditOperations } from '../api/audit.ts';
import { automation } from '../api/automation.ts';
import { type CommandLine, digits, type JsonOption, jsonOption, printJson } from './command-line.ts';
import { change } from './remote.ts';
import { type Cell, printProperties, printTable } from './table.ts';
import { painted } from './terminal.ts';
import { showing, watchOption, watchSeconds } from './watch.ts';

export function addSchedulerCommands(scheduler: Command, line: CommandLine): void {
  const { terminal } = line;
  scheduler
    .command('status')
    .description('whether the scheduler runs, and how well it keeps its pace')
    .option(watchOption, 'again every 2 seconds, or as often as you say', watchSeconds)
    .option(...jsonOption)
    .action(async (options: JsonOption & { readonly watch?: number | true }) => {
      const remote = line.remote();
      await showing(line, options.watch, async () => {
        const { data } = await remote.call(automation.schedulerStatus);
        if (options.json === true) printJson(terminal, data.data);
        else printProperties(terminal, simple(data.data));
      });
    });
  scheduler
    .command('reload')
    .description('read all rules and the site parameters anew')
    // Only what changes a rule needs it [platform §7]; a habit of giving it is no mistake.
    .addOption(new Option('--confirmed', 'not needed').hideHelp())
    .option(...jsonOption)
    .action(async (options: JsonOption) => {
      const order = { capability: automation.reload, input: {}, what: 'reload all rules', confirmed: true };
      const { data } = await change(line.remote(), terminal, order);
      if (options.json === true) return printJson(terminal, data.data);
      terminal.out(`loaded ${data.data.rules_loaded}\n`);
      for (const { id, code } of data.data.rules_failed)
        terminal.out(`${painted(terminal, 'red', 'failed')} ${id} ${code}\n`);
    });
}

/** Members that fit on a line. */
function simple(value: object): Record<string, Cell> {
  const properties: Record<string, Cell> = {};
  for (const [name, member] of Object.entries(value) as [string, unknown][])
    if (typeof member === 'string' || typeof member === 'number' || typeof member === 'boolean' || member === null)
      properties[name] = member;
  return properties;
}

type Instance = Static<(typeof automation)['instances']['answer']>['data']['instances'][number];
type Point = Instance['points'][number];

export function addInstancesCommand(setpoint: Command, line: CommandLine): void {
  const { terminal } = line;
  setpoint
    .command('instances')
    .description('instances, points and parameters of the site')
    .option(...jsonOption)
    .action(async (options: JsonOption) => {
      const { data } = await line.remote().call(automation.instances);
      if (options.json === true) return printJson(terminal, data.data);
      const rows = data.data.instances.flatMap((instance) => instance.points.map((point) => ({ instance, point })));
      const columns = [
        { title: 'POINT', cell: ({ instance, point }: Row) => `${instance.id}:${point.id}` },
        { title: 'KIND', cell: ({ point }: Row) => point.kind },
        { title: 'INSTANCE', cell: ({ instance }: Row) => instance.name },
        { title: 'NAME', cell: ({ point }: Row) => point.name },
        { title: 'UNIT', cell: ({ point }: Row) => point.unit },
        { title: 'MIN', cell: ({ point }: Row) => point.min, align: 'right' as const },
        { title: 'MAX', cell: ({ point }: Row) => point.max, align: 'right' as const },
        { title: 'WRITABLE', cell: ({ point }: Row) => point.writable },
      ];
      printTable(terminal, columns, rows);
      if (data.data.parameters.length === 0) return;
      terminal.out('\n');
      printTable(
        terminal,
        [
          { title: 'PARAMETER', cell: ({ name }) => name },
          { title: 'VALUE', cell: ({ value }) => value, align: 'right' },
          { title: 'UNIT', cell: ({ unit }) => unit },
        ],
        data.data.parameters,
      );
    });
}

interface Row {
  readonly instance: Instance;
  readonly point: Point;
}

interface SearchOptions extends JsonOption {
  readonly action?: string;
  readonly subject?: string;
  readonly resource?: string;
  readonly resourceKind?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export function addAuditSearch(auditCommand: Command, line: CommandLine): void {
  const { terminal } = line;
  auditCommand
    .command('search')
    .description('audit events of a running service, newest first; needs the role Admin')
    .option('--action <name>', 'such as automation.rule.update')
    .option('--subject <id>', 'who did it')
    .option('--resource <id>', 'such as automation-rule:3')
    .option('--resource-kind <kind>', 'such as automation-rule')
    .option('--from <time>', 'not before, such as 2026-07-11T10:45:00Z')
    .option('--to <time>', 'not after')
    .option('--limit <number>', 'how many, 1 to 100', digits)
    .option('--cursor <sequence>', 'only events before this sequence', digits)
    .option(...jsonOption)
    .action(async (options: SearchOptions) => {
      const { json, subject, resource, ...same } = options;
      const query = {
        ...same,
        ...(subject === undefined ? {} : { subjectId: subject }),
        ...(resource === undefined ? {} : { resourceId: resource }),
      };
      const { data } = await line.remote().call(auditOperations.search, { query });
      if (json === true) return printJson(terminal, data);
      printTable(
        terminal,
        [
          { title: 'SEQUENCE', cell: (item) => item.sequence, align: 'right' },
          { title: 'AT', cell: (item) => item.occurredAt },
          { title: 'SUBJECT', cell: (item) => item.subject.subjectId },
          { title: 'ACTION', cell: (item) => item.action },
          { title: 'RESOURCE', cell: (item) => item.resource.resourceId },
          { title: 'OUTCOME', cell: (item) => item.outcome },
          { title: 'CORRELATION ID', cell: (item) => item.correlationId },
        ],
        data.items,
      );
      if (terminal.outIsTerminal && data.nextCursor !== null)
        terminal.out(painted(terminal, 'dim', `more: --cursor ${data.nextCursor}\n`));
    });
}
