/** `setpoint alarms …` of a running service. */
import type { Static } from 'typebox';
import { alarms } from '../../api/alarms.ts';
import { type Column, printTable } from '../table.ts';
import { type Paint, printable } from '../terminal.ts';
import { operationCommand } from './operation-command.ts';

type Alarm = Static<(typeof alarms)['list']['answer']>['data']['list'][number];

const paint = ({ state, priority }: Alarm): Paint | undefined => {
  if (!state.startsWith('active')) return undefined;
  return priority === 'critical' || priority === 'high' ? 'red' : 'yellow';
};
const columns: readonly Column<Alarm>[] = [
  { title: 'ID', cell: (alarm) => alarm.id },
  { title: 'PRIORITY', cell: (alarm) => alarm.priority },
  { title: 'STATE', cell: (alarm) => alarm.state, paint },
  { title: 'SINCE', cell: (alarm) => alarm.since },
  { title: 'COUNT', cell: (alarm) => alarm.count, align: 'right' },
  { title: 'FIRST', cell: (alarm) => (alarm.first_out ? 'yes' : null) },
  { title: 'ACKNOWLEDGED BY', cell: (alarm) => alarm.acknowledged_by?.id },
  { title: 'SHELVED UNTIL', cell: (alarm) => alarm.shelved_until },
  { title: 'NAME', cell: (alarm) => alarm.name },
  { title: 'THRESHOLD', cell: ({ threshold }) => (threshold === null ? null : `${threshold.kind} ${threshold.value}`) },
  { title: 'MESSAGE', cell: (alarm) => alarm.message },
];
const params = { alarm_id: 'the id of an alarm' };

export const alarmCommands = [
  operationCommand('alarms list', alarms.list, {
    description: 'alarms with their states',
    members: { state: 'only alarms in this state', priority: 'only alarms of this priority' },
    watch: true,
    print: (terminal, { data }) => printTable(terminal, columns, data.list),
  }),
  operationCommand('alarms history', alarms.history, {
    description: 'changes of alarms, the oldest first',
    members: {
      from: 'RFC 3339 time; a day before the end by default',
      to: 'RFC 3339 time; now by default',
      limit: 'only the newest changes, 1 to 10000',
    },
    print: (terminal, { data }) =>
      printTable(
        terminal,
        [
          { title: 'AT', cell: ({ at }) => at },
          { title: 'ID', cell: ({ id }) => id },
          { title: 'STATE', cell: ({ state }) => state },
          { title: 'BY', cell: ({ by }) => by?.id },
          { title: 'REASON', cell: ({ reason }) => reason },
        ],
        data.list,
      ),
  }),
  operationCommand('alarms acknowledge', alarms.acknowledge, {
    description: 'acknowledge an alarm',
    params,
    change: ({ path }) => `acknowledge ${path['alarm_id']}`,
    print: (terminal, { data }) => printTable(terminal, columns, [data]),
  }),
  operationCommand('alarms acknowledge-many', alarms.acknowledgeMany, {
    description: 'acknowledge those of the given alarms that are unacknowledged',
    members: { alarm_ids: { flags: '--ids <json|file>', text: 'a list of their ids; - reads standard input' } },
    change: ({ sent }) => `acknowledge ${(sent['alarm_ids'] as readonly string[]).length} alarms`,
    print(terminal, { data: { acknowledged, left } }) {
      for (const id of acknowledged) terminal.out(`acknowledged ${printable(id)}\n`);
      for (const id of left) terminal.out(`nothing to acknowledge: ${printable(id)}\n`);
    },
  }),
  operationCommand('alarms shelve', alarms.shelve, {
    description: 'shelve an alarm for a time',
    params,
    members: {
      for_seconds: { flags: '--for <seconds>', text: 'how long, at most a day' },
      reason: 'why, 3 to 500 characters',
    },
    change: ({ path, sent }) => `shelve ${path['alarm_id']} for ${String(sent['for_seconds'])} s`,
    print: (terminal, { data }) => printTable(terminal, columns, [data]),
  }),
  operationCommand('alarms unshelve', alarms.unshelve, {
    description: 'end the shelving of an alarm',
    params,
    change: ({ path }) => `unshelve ${path['alarm_id']}`,
    print: (terminal, { data }) => printTable(terminal, columns, [data]),
  }),
];
