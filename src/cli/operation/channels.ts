/** `setpoint channels …` of a running service [points §8.5], [points §8.6]. */
import type { Static } from 'typebox';
import { channels } from '../../api/channels.ts';
import { type Column, printTable } from '../table.ts';
import { operationCommand } from './operation-command.ts';

type Channel = Static<(typeof channels)['list']['answer']>['data']['list'][number];

const channelColumns: readonly Column<Channel>[] = [
  { title: 'CHANNEL', cell: ({ channel }) => channel },
  { title: 'DRIVER', cell: ({ driver }) => driver },
  { title: 'STATE', cell: ({ state }) => state, paint: ({ state }) => (state === 'online' ? undefined : 'yellow') },
  { title: 'POINTS', cell: ({ points: count }) => count, align: 'right' },
  { title: 'LAST READING', cell: ({ last_reading_at: at }) => at },
  { title: 'READ', cell: ({ traffic }) => traffic?.read, align: 'right' },
  { title: 'UNREAD', cell: ({ traffic }) => traffic?.unread, align: 'right' },
  { title: 'LATE', cell: ({ traffic }) => traffic?.late, align: 'right' },
  { title: 'SENT', cell: ({ traffic }) => traffic?.sent, align: 'right' },
  { title: 'FAILED', cell: ({ traffic }) => traffic?.failed, align: 'right' },
  { title: 'DROPPED', cell: ({ traffic }) => traffic?.dropped, align: 'right' },
  { title: 'LAST ERROR', cell: ({ last_error: error }) => error?.message },
];

type Exchange = Static<(typeof channels)['trace']['answer']>['data']['exchanges'][number];

const exchangeColumns: readonly Column<Exchange>[] = [
  { title: 'AT', cell: ({ at }) => at },
  { title: 'MS', cell: ({ duration_ms: ms }) => ms, align: 'right' },
  { title: 'REQUEST', cell: ({ request }) => request },
  {
    title: 'ANSWER',
    cell: ({ answer }) => answer,
    paint: ({ result }) => (result === 'answered' ? undefined : 'yellow'),
  },
];

type Model = Static<(typeof channels)['scan']['answer']>['data']['models'][number];
interface ModelRow extends Pick<Model, 'model' | 'name' | 'register'> {
  /** Null for a model with unknown points. */
  readonly point: Model['points'][number] | null;
}

const modelColumns: readonly Column<ModelRow>[] = [
  { title: 'MODEL', cell: ({ model }) => model, align: 'right' },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'REGISTER', cell: ({ register }) => register, align: 'right' },
  { title: 'POINT', cell: ({ point }) => point?.point },
  { title: 'VALUE', cell: ({ point }) => point?.value, align: 'right' },
  { title: 'UNIT', cell: ({ point }) => point?.unit },
];

function modelRows({ points, ...model }: Model): ModelRow[] {
  return points.length === 0 ? [{ ...model, point: null }] : points.map((point) => ({ ...model, point }));
}

const params = { channel: 'the id of a channel' };
const hex = (word: number): string => word.toString(16).padStart(4, '0');
const signed = (word: number): number => (word > 0x7fff ? word - 0x1_0000 : word);

export const channelCommands = [
  operationCommand('channels list', channels.list, {
    description: 'channels with their state, counters and last error',
    watch: true,
    print: (terminal, { data }) => printTable(terminal, channelColumns, data.list),
  }),
  operationCommand('channels trace', channels.trace, {
    description: 'print the newest requests to a device with raw answers, or the newest messages of an MQTT channel',
    params,
    watch: true,
    print(terminal, { data: { counts, exchanges } }) {
      printTable(terminal, exchangeColumns, exchanges);
      if (terminal.outIsTerminal)
        terminal.out(
          `${counts.answered} successful, ${counts.refused} refused, ${counts.no_answer} without an answer since the device layer started\n`,
        );
    },
  }),
  operationCommand('channels scan', channels.scan, {
    description: 'scan a device for registers, or for SunSpec models and points',
    params,
    members: {
      unit: 'unit behind a gateway, 0 to 255; default: that of the channel',
      table: 'which registers; holding by default',
      from: 'the first register, from 0',
      count: 'how many registers, 1 to 1000; 100 by default',
    },
    print(terminal, { data: { registers, models } }) {
      if (models.length > 0) printTable(terminal, modelColumns, models.flatMap(modelRows));
      if (registers.length > 0 || models.length === 0)
        printTable(
          terminal,
          [
            { title: 'UNIT', cell: ({ unit }) => unit, align: 'right' },
            { title: 'TABLE', cell: ({ table }) => table },
            { title: 'REGISTER', cell: ({ register }) => register, align: 'right' },
            { title: 'HEX', cell: ({ words }) => words.map(hex).join(' ') },
            { title: 'UNSIGNED', cell: ({ words }) => words.join(' '), align: 'right' },
            { title: 'SIGNED', cell: ({ words }) => words.map(signed).join(' '), align: 'right' },
          ],
          registers,
        );
    },
  }),
];
