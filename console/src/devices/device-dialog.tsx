/** One channel in detail: its newest exchanges with raw words, and the results of a scan. */
import { Button, Checkbox, Modal, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { shownNumber } from '../parts/number.ts';
import table from '../parts/table.module.css';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { deviceWords } from '../strings/devices.ts';
import { AddPoints } from './add-points.tsx';
import {
  type ChannelView,
  type ScannedChannel,
  type ScanSpan,
  type TracedChannel,
  useScan,
  useTrace,
} from './device-queries.ts';
import styles from './devices.module.css';
import { type FoundPlace, placesOfModels, placesOfRegisters } from './found-places.ts';
import { firstSpan, ScanFields, scanOf } from './scan-fields.tsx';

const words = deviceWords;
/** The end of a table's addresses, exclusive. */
const registerEnd = 65_536;

interface DialogParts {
  readonly channel: Pick<ChannelView, 'channel' | 'driver' | 'polled' | 'traced'>;
  readonly onClose: () => void;
}

export function DeviceDialog({ channel: { channel, driver, polled, traced }, onClose }: DialogParts) {
  if (polled) return <AskedDevice channel={channel} isModbus={driver === 'modbus-tcp'} onClose={onClose} />;
  return (
    <Modal opened onClose={onClose} title={channel} size="xl" closeButtonProps={{ 'aria-label': words.close }}>
      {traced ? (
        <Stack>
          <Trace channel={channel} words={words.messages} />
        </Stack>
      ) : (
        <Text size="sm">{words.trace.never(driver)}</Text>
      )}
    </Modal>
  );
}

interface AskedParts {
  readonly channel: string;
  /** Scans read registers, not models. */
  readonly isModbus: boolean;
  readonly onClose: () => void;
}

function AskedDevice({ channel, isModbus, onClose }: AskedParts) {
  const session = useSession();
  const mayScan = session.status !== 'out' && mayManage(session.facts.role);
  const scan = useScan(channel);
  const [chosen, setChosen] = useState<readonly FoundPlace[]>([]);
  const [isAdding, setAdding] = useState(false);
  if (isAdding)
    return (
      <Modal
        opened
        onClose={onClose}
        title={words.add.title}
        size="xl"
        closeButtonProps={{ 'aria-label': words.close }}
      >
        <AddPoints channel={channel} places={chosen} onBack={() => setAdding(false)} onDone={onClose} />
      </Modal>
    );
  return (
    <Modal opened onClose={onClose} title={channel} size="xl" closeButtonProps={{ 'aria-label': words.close }}>
      <Stack>
        {mayScan && (
          <Scan scan={scan} isModbus={isModbus} chosen={chosen} onChoose={setChosen} onAdd={() => setAdding(true)} />
        )}
        <Trace channel={channel} words={words.trace} />
      </Stack>
    </Modal>
  );
}

interface TraceParts {
  /** Those of requests, or of messages. */
  readonly words: typeof deviceWords.trace | typeof deviceWords.messages;
}

function Trace({ channel, words: own }: TraceParts & { readonly channel: string }) {
  const trace = useTrace(channel);
  return (
    <>
      <Title order={2} size="h4">
        {own.title}
      </Title>
      <Text size="sm">{own.lead}</Text>
      {trace.isError && <Failure error={trace.error} onRetry={() => void trace.refetch()} />}
      {trace.data !== undefined && <Exchanges trace={trace.data} words={own} />}
    </>
  );
}

function Exchanges({ trace: { counts, exchanges }, words: own }: TraceParts & { readonly trace: TracedChannel }) {
  if (exchanges.length === 0) return <Text size="sm">{own.none}</Text>;
  return (
    <>
      <Text size="sm">
        {own.counts(shownNumber(counts.answered), shownNumber(counts.refused), shownNumber(counts.no_answer))}
      </Text>
      <table className={table['table']} aria-label={own.title}>
        <Columns of={own.columns} />
        <tbody>
          {exchanges.toReversed().map(({ at, duration_ms: ms, request, answer, result }) => (
            <tr key={`${at} ${request} ${ms}`} data-result={result}>
              <td className={styles['whole']}>
                <Moment at={at} />
              </td>
              {/* Messages have no duration. */}
              <td className={styles['whole']}>{ms === 0 ? '' : words.trace.took(shownNumber(ms))}</td>
              <td className={styles[own === words.trace ? 'whole' : 'topic']}>{request}</td>
              <td className={styles['words']}>{answer}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface ChoiceParts {
  readonly chosen: readonly FoundPlace[];
  readonly onChoose: (chosen: readonly FoundPlace[]) => void;
}

interface ScanParts extends ChoiceParts, Pick<AskedParts, 'isModbus'> {
  readonly scan: ReturnType<typeof useScan>;
  readonly onAdd: () => void;
}

function Scan({ scan, isModbus, chosen, onChoose, onAdd }: ScanParts) {
  const [typed, setTyped] = useState(firstSpan);
  const span = scanOf(typed);
  return (
    <>
      <Title order={2} size="h4">
        {words.scan.title}
      </Title>
      <Text size="sm">{isModbus ? words.scan.lead : words.scan.leadOfModels}</Text>
      {isModbus && <ScanFields span={typed} onSpan={setTyped} />}
      <Button
        w="fit-content"
        loading={scan.isPending}
        disabled={isModbus && span === null}
        onClick={() => scan.mutate(isModbus ? span : null)}
      >
        {words.scan.go}
      </Button>
      {scan.isError && <Failure error={scan.error} />}
      {scan.data !== undefined && (
        <Found scan={scan.data} asked={scan.variables ?? null} chosen={chosen} onChoose={onChoose} />
      )}
      {chosen.length > 0 && (
        <Button w="fit-content" onClick={onAdd}>
          {words.add.open(chosen.length)}
        </Button>
      )}
    </>
  );
}

const hex = (word: number): string => word.toString(16).padStart(4, '0');
const signed = (word: number): number => (word > 0x7fff ? word - 0x1_0000 : word);

interface FoundParts extends ChoiceParts {
  readonly scan: ScannedChannel;
  /** Null for a scan of models. */
  readonly asked: ScanSpan | null;
}

function Found({ scan, asked, ...choice }: FoundParts) {
  const { registers, models } = scan;
  const last = asked === null ? 0 : Math.min(asked.from + asked.count, registerEnd) - 1;
  return (
    <>
      {asked === null && models.length === 0 && <Text size="sm">{words.scan.noModels}</Text>}
      {asked !== null && (
        <Text size="sm">{words.scan.answered(registers.length, words.scan.tables[asked.table], asked.from, last)}</Text>
      )}
      {models.length > 0 && (
        <table className={table['table']} aria-label={words.scan.title}>
          <Columns of={{ choose: words.add.choose, ...words.scan.models }} />
          <tbody>
            <Models scan={scan} {...choice} />
          </tbody>
        </table>
      )}
      {registers.length > 0 && (
        <table className={table['table']} aria-label={words.scan.title}>
          <Columns of={{ choose: words.add.choose, ...words.scan.registers }} />
          <tbody>
            <Registers scan={scan} asked={asked} {...choice} />
          </tbody>
        </table>
      )}
    </>
  );
}

function Models({ scan, ...choice }: ChoiceParts & { readonly scan: ScannedChannel }) {
  const places = new Map(placesOfModels(scan).map((place) => [place.key, place]));
  return scan.models.flatMap(({ model, name, register, points }) =>
    points.flatMap(({ point, unit, value }) => {
      const place = places.get(`${register} ${point}`);
      if (place === undefined) return [];
      return (
        <tr key={place.key}>
          <td>
            <Choice place={place} {...choice} />
          </td>
          <td>
            {model} {name}
          </td>
          <td>{point}</td>
          <td>
            {typeof value === 'number' ? shownNumber(value) : value} {unit}
          </td>
          <td>{register}</td>
        </tr>
      );
    }),
  );
}

function Registers({ scan, asked, ...choice }: FoundParts) {
  const places = placesOfRegisters(scan, asked !== null && asked.unit !== null);
  return scan.registers.map(({ table: of, register, words: held }, at) => {
    const place = places[at];
    return (
      <tr key={place?.key}>
        <td>{place !== undefined && <Choice place={place} {...choice} />}</td>
        <td>
          {of} {register}
        </td>
        <td className={styles['words']}>{held.map(hex).join(' ')}</td>
        <td>{held.join(' ')}</td>
        <td>{held.map(signed).join(' ')}</td>
      </tr>
    );
  });
}

function Choice({ place, chosen, onChoose }: ChoiceParts & { readonly place: FoundPlace }) {
  return (
    <Checkbox
      aria-label={words.add.chooseThis(place.label)}
      checked={chosen.some(({ key }) => key === place.key)}
      onChange={(event) =>
        onChoose(event.currentTarget.checked ? [...chosen, place] : chosen.filter(({ key }) => key !== place.key))
      }
    />
  );
}

function Columns({ of }: { of: Readonly<Record<string, string>> }) {
  return (
    <thead>
      <tr>
        {Object.values(of).map((column) => (
          <th key={column} scope="col">
            {column}
          </th>
        ))}
      </tr>
    </thead>
  );
}
