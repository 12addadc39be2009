/** The result of a backtest: first its reliability, then the decisions of the rule. */
import { Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { type ConsoleCatalogue, pointText } from '../editor/site-catalogue.ts';
import { fullTime } from '../parts/moment.tsx';
import { shownNumber, shownShare, withUnit } from '../parts/number.ts';
import table from '../parts/table.module.css';
import { Notice, Tag } from '../parts/tag.tsx';
import { outcomeOf } from '../rules/rule-words.ts';
import { useRuleName } from '../server/queries.ts';
import { evidenceWords } from '../strings/evidence.ts';
import { runDifference } from './difference-words.ts';
import classes from './evidence.module.css';
import type { BacktestView } from './evidence-queries.ts';
import type { NodeNames } from './node-names.ts';
import { StepChart } from './step-chart.tsx';

const words = evidenceWords.backtest;
/** Maximum number of rows per list; the API returns them all. */
const rowsMax = 20;

const notesInWords: Readonly<Record<string, string>> = words.notes;
const energyNames = ['imported_kwh', 'exported_kwh', 'charged_kwh', 'discharged_kwh', 'losses_kwh'] as const;
const modesInWords: Readonly<Record<string, string>> = words.modes;
const causesInWords: Readonly<Record<string, string>> = words.causeNames;

interface ResultParts {
  readonly result: BacktestView;
  readonly catalogue: ConsoleCatalogue;
}

interface FindingsParts extends ResultParts {
  /** Whether it was compared with another revision. */
  readonly isCompared: boolean;
  /** The rule as stored, a revision of it, or a draft. */
  readonly tried: string;
  readonly nodeName: NodeNames;
}

export function BacktestFindings({ result, catalogue, isCompared, tried, nodeName }: FindingsParts) {
  const { notes, outcomes, warm_up: warmUp } = result;
  return (
    <div className={classes['result']} data-testid="backtest-result">
      <p className={classes['soft']}>
        {words.tried(tried, modesInWords[result.mode] ?? result.mode, fullTime(result.from), fullTime(result.to))}
      </p>
      <Agreement agreement={result.agreement} catalogue={catalogue} nodeName={nodeName} />
      <Plant result={result} />
      {warmUp.until !== null && (
        <Notice tone="info">{words.warmUp(fullTime(warmUp.until), warmUp.functions.join(', '))}</Notice>
      )}
      <Feedback feedback={result.feedback} catalogue={catalogue} />
      {notes.map((note) => (
        <Notice key={note} tone="info">
          {notesInWords[note] ?? note}
        </Notice>
      ))}
      <Part title={words.outcomes}>
        <p className={classes['soft']}>{words.evaluations(shownNumber(result.evaluations))}</p>
        {(['acted', 'no_action', 'skipped', 'failed'] as const).map((name) => (
          <Tag key={name} tone={outcomes[name] === 0 ? 'calm' : outcomeOf(name).tone}>
            {outcomeOf(name).text}: {shownNumber(outcomes[name])}
          </Tag>
        ))}
      </Part>
      {isCompared && <Divergence result={result} catalogue={catalogue} />}
      <Writes result={result} catalogue={catalogue} />
      <Shares shares={result.outputs_share} nodeName={nodeName} />
      <Part title={words.coverage}>
        {result.coverage.some(({ ratio }) => ratio < 1) && <p className={classes['soft']}>{words.coverageHelp}</p>}
        {result.coverage.map(({ point, ratio, gaps }) => (
          <p key={point} className={classes['soft']}>
            {recordedPointText(point, catalogue)}: {words.covered(shownShare(ratio), gaps)}
          </p>
        ))}
        <p className={classes['soft']}>
          {words.digest}: <code>{result.digest}</code>
        </p>
      </Part>
    </div>
  );
}

/** A point of the coverage, in the form `4:M:1`. */
function recordedPointText(name: string, catalogue: ConsoleCatalogue): string {
  const [instance, kind, point] = name.split(':');
  const ref = {
    instance: Number(instance),
    point_type: kind === 'A' ? 'action' : 'measurement',
    point: Number(point),
  } as const;
  return catalogue.point(ref) === undefined ? name : pointText(ref, catalogue);
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <Title order={2} size="h5">
        {title}
      </Title>
      {children}
    </section>
  );
}

type AgreementParts = Pick<BacktestView, 'agreement'> & Pick<FindingsParts, 'catalogue' | 'nodeName'>;

function Agreement({ agreement, catalogue, nodeName }: AgreementParts) {
  if (agreement === null || agreement.ratio === null) return <Part title={words.agreement}>{words.noAgreement}</Part>;
  const { compared, equal, ratio, refused, unrecorded, differences, causes } = agreement;
  return (
    <Part title={words.agreement}>
      <p className={classes['big']} data-testid="agreement">
        {words.agreed(shownShare(ratio), shownNumber(equal), shownNumber(compared))}
      </p>
      {refused > 0 && <p className={classes['soft']}>{words.refused(shownNumber(refused))}</p>}
      {unrecorded > 0 && <p className={classes['soft']}>{words.unrecorded(shownNumber(unrecorded))}</p>}
      {Object.keys(causes).length > 0 && (
        <p className={classes['soft']}>
          {words.causes}:{' '}
          {Object.entries(causes)
            .map(([cause, count]) => `${causesInWords[cause] ?? cause} (${shownNumber(count)})`)
            .join(', ')}
        </p>
      )}
      {differences.length > 0 && (
        <Rows
          all={differences.length}
          heads={[words.at, words.field, words.recorded, words.computed, words.cause]}
          rows={differences
            .slice(0, rowsMax)
            .map((each) => [
              fullTime(each.at),
              ...runDifference(each, catalogue, nodeName),
              causesInWords[each.cause] ?? each.cause,
            ])}
        />
      )}
    </Part>
  );
}

interface RowsParts {
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** Total number of rows. */
  readonly all: number;
}

export function Rows({ heads, rows, all }: RowsParts) {
  return (
    <div className={classes['scroll']}>
      {rows.length < all && <p className={classes['soft']}>{words.firstOf(rows.length, all)}</p>}
      <table className={table['table']}>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, column) => (
                <td key={column}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Feedback({ feedback, catalogue }: Pick<BacktestView, 'feedback'> & Pick<ResultParts, 'catalogue'>) {
  const nameOf = useRuleName();
  if (feedback.length === 0) return null;
  return (
    <Part title={words.feedback}>
      <Text size="sm">{words.feedbackLead}</Text>
      <ul>
        {feedback.map(({ instance, point_type: kind, point, written_by: rules }) => {
          const ref = { instance, point_type: kind === 'action' ? 'action' : 'measurement', point } as const;
          const by = rules.map((id) => nameOf(id)).join(', ');
          // Whether the equipment responded at a measurement is unknown.
          const text = ref.point_type === 'action' ? words.writtenBy(by) : words.mayFollow(by);
          return <li key={`${instance}:${kind}:${point}`}>{`${pointText(ref, catalogue)}, ${text}`}</li>;
        })}
      </ul>
    </Part>
  );
}

/** First the error of the assumed battery, which limits the reliability of the energies. */
function Plant({ result: { plant, from, to } }: Pick<ResultParts, 'result'>) {
  if (plant === null) return null;
  const { recorded_soc_error: error, baseline } = plant;
  const rows = energyNames.map((name) => [
    words.plant.energies[name],
    withUnit(plant[name], 'kWh'),
    ...(baseline === null ? [] : [withUnit(baseline[name], 'kWh')]),
  ]);
  return (
    <Part title={words.plant.title}>
      <p className={classes['big']} data-testid="plant-error">
        {error === null ? words.plant.notCompared : words.plant.error(withUnit(error, '%'))}
      </p>
      <Rows
        all={rows.length}
        heads={['', words.candidate, ...(baseline === null ? [] : [words.baseline])]}
        rows={rows}
      />
      <p className={classes['soft']}>{words.plant.soc}</p>
      <StepChart changes={plant.soc} from={from} to={to} label={words.plant.soc} />
    </Part>
  );
}

type Doing = NonNullable<BacktestView['first_divergence']>['baseline'];

function Divergence({ result, catalogue }: ResultParts) {
  const { first_divergence: first } = result;
  if (first === null) return <Part title={words.divergence}>{words.noDivergence}</Part>;
  const said = (doing: Doing): string =>
    doing === null
      ? words.notRun
      : [
          outcomeOf(doing.outcome).text,
          doing.path.join(' → '),
          ...doing.writes.map(
            ({ instance, point, value }) =>
              `${pointText({ instance, point_type: 'action', point }, catalogue)} = ${shownNumber(value)}`,
          ),
        ].join('; ');
  return (
    <Part title={words.divergence}>
      <Text size="sm" data-testid="divergence">
        {fullTime(first.at)}
      </Text>
      <Rows all={1} heads={[words.baseline, words.candidate]} rows={[[said(first.baseline), said(first.candidate)]]} />
    </Part>
  );
}

function Writes({ result, catalogue }: ResultParts) {
  const { writes, from, to } = result;
  return (
    <Part title={words.writes}>
      {writes.length === 0 && <Text size="sm">{words.noWrites}</Text>}
      {writes.map(({ instance, point, changes, counted }) => {
        const ref = { instance, point_type: 'action', point } as const;
        const label = pointText(ref, catalogue);
        const unit = catalogue.point(ref)?.unit;
        return (
          <div key={`${instance}:${point}`} data-testid="write">
            <p className={classes['soft']}>
              {label}: {words.counted(shownNumber(counted), shownNumber(changes.length))}
            </p>
            <StepChart changes={changes} from={from} to={to} label={words.chart(label)} />
            <Rows
              all={changes.length}
              heads={[words.at, words.value]}
              rows={changes.slice(0, rowsMax).map(({ at, value }) => [fullTime(at), withUnit(value, unit)])}
            />
          </div>
        );
      })}
    </Part>
  );
}

interface SharesParts extends Pick<FindingsParts, 'nodeName'> {
  readonly shares: BacktestView['outputs_share'];
}

function Shares({ shares, nodeName }: SharesParts) {
  const rows = Object.entries(shares).flatMap(([node, outputs]) =>
    Object.entries(outputs).map(([output, share]) => [`${nodeName(node)} → ${output}`, shownShare(share)]),
  );
  if (rows.length === 0) return null;
  return (
    <Part title={words.shares}>
      <Rows all={rows.length} heads={[words.node, words.share]} rows={rows} />
    </Part>
  );
}
