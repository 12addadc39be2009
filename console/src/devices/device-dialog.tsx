/** One channel from close up: its newest exchanges with raw words, and what a scan finds behind it. */
import { Button, Modal, Stack, Text, Title } from '@mantine/core';
import { Failure } from '../parts/failure.tsx';
import { Moment } from '../parts/moment.tsx';
import { shownNumber } from '../parts/number.ts';
import table from '../parts/table.module.css';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { deviceWords } from '../strings/devices.ts';
import styles from './device-dialog.module.css';
import { type ScannedChannel, type TracedChannel, useScan, useTrace } from './device-queries.ts';

const words = deviceWords;

export function DeviceDialog({ channel, onClose }: { channel: string; onClose: () => void }) {
  const session = useSession();
  const mayScan = session.status !== 'out' && mayManage(session.facts.role);
  const trace = useTrace(channel);
  return (
    <Modal opened onClose={onClose} title={channel} size="xl" closeButtonProps={{ 'aria-label': words.close }}>
      <Stack>
        {mayScan && <Scan channel={channel} />}
        <Title order={2} size="h4">
          {words.trace.title}
        </Title>
        <Text size="sm">{words.trace.lead}</Text>
        {trace.isError && <Failure error={trace.error} onRetry={() => void trace.refetch()} />}
        {trace.data !== undefined && <Exchanges trace={trace.data} />}
      </Stack>
    </Modal>
  );
}

function Exchanges({ trace: { counts, exchanges } }: { trace: TracedChannel }) {
  if (exchanges.length === 0) return <Text size="sm">{words.trace.none}</Text>;
  return (
    <>
      <Text size="sm">
        {words.trace.counts(shownNumber(counts.answered), shownNumber(counts.refused), shownNumber(counts.no_answer))}
      </Text>
      <table className={table['table']} aria-label={words.trace.title}>
        <Columns of={words.trace.columns} />
        <tbody>
          {exchanges.toReversed().map(({ at, duration_ms: ms, request, answer, result }) => (
            <tr key={`${at} ${request} ${ms}`} data-result={result}>
              <td className={styles['whole']}>
                <Moment at={at} />
              </td>
              <td className={styles['whole']}>{words.trace.took(shownNumber(ms))}</td>
              <td className={styles['whole']}>{request}</td>
              <td className={styles['words']}>{answer}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Scan({ channel }: { channel: string }) {
  const scan = useScan(channel);
  return (
    <>
      <Title order={2} size="h4">
        {words.scan.title}
      </Title>
      <Text size="sm">{words.scan.lead}</Text>
      <Button w="fit-content" loading={scan.isPending} onClick={() => scan.mutate()}>
        {words.scan.go}
      </Button>
      {scan.isError && <Failure error={scan.error} />}
      {scan.data !== undefined && <Found scan={scan.data} />}
    </>
  );
}

const hex = (word: number): string => word.toString(16).padStart(4, '0');
const signed = (word: number): number => (word > 0x7fff ? word - 0x1_0000 : word);

function Found({ scan: { registers, models } }: { scan: ScannedChannel }) {
  if (registers.length === 0 && models.length === 0) return <Text size="sm">{words.scan.none}</Text>;
  return (
    <>
      {models.length > 0 && (
        <table className={table['table']} aria-label={words.scan.title}>
          <Columns of={words.scan.models} />
          <tbody>
            {models.flatMap(({ model, name, register, points }) =>
              points
                .filter(({ value }) => value !== null && value !== '')
                .map(({ point, unit, value }) => (
                  <tr key={`${register} ${point}`}>
                    <td>
                      {model} {name}
                    </td>
                    <td>{point}</td>
                    <td>
                      {typeof value === 'number' ? shownNumber(value) : value} {unit}
                    </td>
                    <td>{register}</td>
                  </tr>
                )),
            )}
          </tbody>
        </table>
      )}
      {registers.length > 0 && (
        <table className={table['table']} aria-label={words.scan.title}>
          <Columns of={words.scan.registers} />
          <tbody>
            {registers.map(({ unit, table: of, register, words: held }) => (
              <tr key={`${unit} ${of} ${register}`}>
                <td>
                  {of} {register}
                </td>
                <td className={styles['words']}>{held.map(hex).join(' ')}</td>
                <td>{held.join(' ')}</td>
                <td>{held.map(signed).join(' ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
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
