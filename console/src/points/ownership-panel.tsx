/** The owners of an actuator over the last day: a ribbon, and a table that also lists the refused writers. */
import { Failure } from '../parts/failure.tsx';
import { Ahead, Moment, useNowMs } from '../parts/moment.tsx';
import { withUnit } from '../parts/number.ts';
import table from '../parts/table.module.css';
import { pointWords } from '../strings/points.ts';
import { type OwnershipView, type PointEntry, useOwnership } from './point-queries.ts';
import { ownerText } from './point-words.ts';
import classes from './points.module.css';

const words = pointWords.ownership;
const dayMs = 86_400_000;
/** Rows of the table; the ribbon shows all. */
const rowsMax = 20;

type Segment = OwnershipView['segments'][number];

export function OwnershipPanel({ point }: { point: PointEntry }) {
  const ownership = useOwnership(point);
  const segments = ownership.data?.segments ?? [];
  const next = ownership.data?.next ?? null;
  return (
    <section className={classes['panel']} aria-labelledby="ownership">
      <div className={classes['head']}>
        <h2 id="ownership" className={classes['heading']}>
          {words.title}
        </h2>
        {next !== null && (
          <span className={classes['soft']}>
            {words.next(ownerText(next.owner))} {next.at !== null && <Ahead at={next.at} />}
          </span>
        )}
      </div>
      {ownership.isError && <Failure error={ownership.error} />}
      {ownership.data !== undefined && segments.length === 0 && <p className={classes['soft']}>{words.none}</p>}
      {segments.length > 0 && (
        <>
          <Ribbon segments={segments} />
          <SegmentTable segments={segments.slice(-rowsMax).toReversed()} unit={point.unit} />
        </>
      )}
    </section>
  );
}

/** Widths are shares of the last 24 hours. */
function Ribbon({ segments }: { segments: readonly Segment[] }) {
  const now = useNowMs();
  const begin = now - dayMs;
  const firstMs = Math.max(begin, Date.parse(segments[0]?.from ?? ''));
  const share = (fromMs: number, toMs: number): number => Math.max(0, toMs - Math.max(begin, fromMs)) / dayMs;
  return (
    <div className={classes['ribbon']} aria-hidden>
      <div className={classes['span']} style={{ flexGrow: share(begin, firstMs) }} />
      {segments.map(({ from, to, owner }) => (
        <div
          key={from}
          className={classes['span']}
          data-kind={owner.kind}
          title={words.segment(ownerText(owner), from, to ?? words.now)}
          style={{ flexGrow: share(Date.parse(from), to === null ? now : Date.parse(to)) }}
        />
      ))}
    </div>
  );
}

function SegmentTable({ segments, unit }: { segments: readonly Segment[]; unit: string }) {
  return (
    <table className={table['table']} aria-labelledby="ownership">
      <thead>
        <tr>
          <th scope="col">{words.columns.owner}</th>
          <th scope="col">{words.columns.from}</th>
          <th scope="col">{words.columns.to}</th>
          <th scope="col">{words.columns.value}</th>
          <th scope="col">{words.columns.refused}</th>
        </tr>
      </thead>
      <tbody>
        {segments.map(({ from, to, owner, value, contenders }) => (
          <tr key={from}>
            <td>{ownerText(owner)}</td>
            <td>
              <Moment at={from} />
            </td>
            <td>{to === null ? words.now : <Moment at={to} />}</td>
            <td className={classes['number']}>{withUnit(value, unit)}</td>
            <td>{contenders.map(({ name, reason }) => `${name} (${words.reasons[reason] ?? reason})`).join(', ')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
