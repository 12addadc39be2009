/** `setpoint points …` of a running service. */
import type { Static } from 'typebox';
import { points } from '../../api/points.ts';
import { type Column, printTable } from '../table.ts';
import type { Paint } from '../terminal.ts';
import { operationCommand } from './operation-command.ts';

type Entry = Static<(typeof points)['list']['answer']>['data']['list'][number];
type Grant = Static<(typeof points)['overrides']['answer']>['data']['list'][number];

/** `2:measurement:1`, the form that every command accepts. */
const reference = ({ instance, point_type: kind, point }: Entry): string => `${instance}:${kind}:${point}`;
const trailHolds = ({ quality }: Entry): boolean => quality === 'good' || quality === 'uncertain';
const paint = (entry: Entry): Paint | undefined => (trailHolds(entry) ? undefined : 'yellow');

const columns: readonly Column<Entry>[] = [
  { title: 'POINT', cell: reference },
  { title: 'INSTANCE', cell: (entry) => entry.instance_name },
  { title: 'NAME', cell: (entry) => entry.name },
  { title: 'VALUE', cell: (entry) => entry.value, align: 'right' },
  { title: 'UNIT', cell: (entry) => entry.unit },
  { title: 'QUALITY', cell: (entry) => entry.quality, paint },
  { title: 'OBSERVED', cell: (entry) => entry.observed_at },
  { title: 'COMMAND', cell: ({ last_command: last }) => (last === null ? null : `${last.written} ${last.result}`) },
  { title: 'OWNER', cell: ({ owner }) => (owner === null ? null : `${owner.kind} ${owner.name}`.trim()) },
  { title: 'ERROR', cell: ({ last_error: error }) => error?.message },
];

const members = {
  instance: 'only points of this instance',
  kind: 'only measurements, or only action points',
  quality: 'only points of this quality',
  search: 'only points whose name contains it',
  page: 'page number, from 1',
  page_size: 'points per page, 1 to 500',
};
const place = { instance: 'the number of an instance', point: 'the number of an action point' };
const grantMembers = {
  for_seconds: { flags: '--for <seconds>', text: 'how long, at most a week' },
  reason: 'why, 3 to 500 characters',
};
const grantColumns: readonly Column<Grant>[] = [
  { title: 'ID', cell: (grant) => grant.override_id },
  { title: 'KIND', cell: (grant) => grant.kind },
  { title: 'POINT', cell: ({ instance, point }) => `${instance}:action:${point}` },
  {
    title: 'VALUE',
    cell: (grant) => (grant.kind === 'override' ? grant.value : `${grant.min ?? ''}..${grant.max ?? ''}`),
  },
  { title: 'UNTIL', cell: (grant) => grant.until },
  { title: 'BY', cell: (grant) => grant.by.id },
  { title: 'REASON', cell: (grant) => grant.reason },
];

const bounds = ({ min, max }: Readonly<Record<string, unknown>>): string =>
  [min, max].map((each) => (typeof each === 'number' ? String(each) : '')).join('..');

export const pointCommands = [
  operationCommand('points list', points.list, {
    description: 'points with their values, quality, last command and owner',
    members,
    watch: true,
    print: (terminal, { data }) => printTable(terminal, columns, data.list),
  }),
  operationCommand('points series', points.series, {
    description: 'the trend of a recorded point in buckets',
    params: { ...place, point_type: 'measurement or action', point: 'the number of a point' },
    members: { from: 'RFC 3339 time', to: 'RFC 3339 time', buckets: 'at most this many, 1 to 2000' },
    print: (terminal, { data }) =>
      printTable(
        terminal,
        [
          { title: 'FROM', cell: ({ t }) => t },
          { title: 'MIN', cell: ({ min }) => min, align: 'right' },
          { title: 'MEAN', cell: ({ mean }) => mean, align: 'right' },
          { title: 'MAX', cell: ({ max }) => max, align: 'right' },
          { title: 'LAST', cell: ({ last }) => last, align: 'right' },
          { title: 'OBSERVATIONS', cell: ({ observations }) => observations, align: 'right' },
        ],
        data.buckets,
      ),
  }),
  operationCommand('points rules', points.rules, {
    description: 'the rules that read or write a point, with what they compare it with',
    params: { ...place, point_type: 'measurement or action', point: 'the number of a point' },
    print(terminal, { data: { readers, writers } }) {
      printTable(
        terminal,
        [
          { title: 'RULE', cell: ({ rule_id: id }) => id },
          { title: 'NAME', cell: ({ name }) => name },
          { title: 'ENABLED', cell: ({ enabled }) => (enabled ? 'yes' : 'no') },
          { title: 'USE', cell: ({ use }) => use },
          { title: 'DETAILS', cell: ({ details }) => details },
        ],
        [
          ...readers.map((rule) => ({
            ...rule,
            use: 'reads',
            details: rule.thresholds.map(({ name, operator, value }) => `${name}: ${operator} ${value}`).join(', '),
          })),
          ...writers.map((rule) => ({ ...rule, use: 'writes', details: rule.node_ids.join(', ') })),
        ],
      );
    },
  }),
  operationCommand('points override', points.override, {
    description: 'hold an action point at a value for a time, above all rules',
    params: place,
    members: { value: { flags: '--value <number>', text: 'in the unit of the point' }, ...grantMembers },
    change: ({ path, sent }) =>
      `hold ${path['instance']}:action:${path['point']} at ${String(sent['value'])} for ${String(sent['for_seconds'])} s`,
    print: (terminal, { data }) => printTable(terminal, grantColumns, [data]),
  }),
  operationCommand('points limit', points.limit, {
    description: 'limit the values of an action point for a time',
    params: place,
    members: {
      min: { flags: '--min <number>', text: 'lowest value' },
      max: { flags: '--max <number>', text: 'highest value' },
      ...grantMembers,
    },
    change: ({ path, sent }) =>
      `keep ${path['instance']}:action:${path['point']} within ${bounds(sent)} for ${String(sent['for_seconds'])} s`,
    print: (terminal, { data }) => printTable(terminal, grantColumns, [data]),
  }),
  operationCommand('points ownership', points.ownership, {
    description: 'who held an action point, who was refused, and who comes next',
    params: place,
    members: { from: 'RFC 3339 time; a day before the end by default', to: 'RFC 3339 time; now by default' },
    print(terminal, { data }) {
      printTable(
        terminal,
        [
          { title: 'FROM', cell: (segment) => segment.from },
          { title: 'TO', cell: (segment) => segment.to },
          { title: 'OWNER', cell: ({ owner }) => `${owner.kind} ${owner.name}`.trim() },
          { title: 'VALUE', cell: (segment) => segment.value, align: 'right' },
          {
            title: 'REFUSED',
            cell: ({ contenders }) => contenders.map(({ name, reason }) => `${name} (${reason})`).join(', '),
          },
        ],
        data.segments,
      );
      if (data.next !== null && terminal.outIsTerminal)
        terminal.out(
          `next: ${data.next.owner.kind} ${data.next.owner.name} ${data.next.at ?? ''}`.trimEnd().concat('\n'),
        );
    },
  }),
  operationCommand('points overrides', points.overrides, {
    description: 'overrides and limits in force',
    watch: true,
    print: (terminal, { data }) => printTable(terminal, grantColumns, data.list),
  }),
  operationCommand('points release', points.release, {
    params: { override_id: 'the id of an override or a limit' },
    change: ({ path }) => `release ${path['override_id']}`,
    print: (terminal, { data }) => terminal.out(`released ${data.override_id}\n`),
  }),
];
