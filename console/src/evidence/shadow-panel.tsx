/** The report from shadow [rules §1.6]: what this rule decided beside what another one did. */
import { Button, Group, NativeSelect, Text } from '@mantine/core';
import { useState } from 'react';
import { pointText } from '../editor/site-catalogue.ts';
import { Failure } from '../parts/failure.tsx';
import { fullTime } from '../parts/moment.tsx';
import { shownNumber, shownShare } from '../parts/number.ts';
import { useRuleName, useRules } from '../server/queries.ts';
import { evidenceWords } from '../strings/evidence.ts';
import { Rows } from './backtest-findings.tsx';
import classes from './evidence.module.css';
import { type ShadowFindings, type ShadowQuestion, useShadowReport } from './evidence-queries.ts';
import { nodeNames } from './node-names.ts';
import type { EvidenceParts } from './tests-panel.tsx';
import { isOrdered, lastHour, TimeRangeFields } from './time-range.tsx';

const words = evidenceWords.shadow;
/** Most rows shown; the API returns all differences. */
const rowsMax = 100;

export function ShadowPanel({ rule, catalogue }: Pick<EvidenceParts, 'rule' | 'catalogue'>) {
  const [range, setRange] = useState(lastHour);
  const [against, setAgainst] = useState('');
  const report = useShadowReport(rule.id);
  const others = (useRules().data ?? []).filter(({ id }) => id !== rule.id);
  return (
    <div className={classes['column']} data-testid="shadow">
      <p className={classes['soft']}>{words.lead}</p>
      <NativeSelect
        label={words.against}
        value={against}
        data={[
          { value: '', label: words.choose, disabled: true },
          ...others.map(({ id, name }) => ({ value: String(id), label: name })),
        ]}
        onChange={(event) => setAgainst(event.currentTarget.value)}
      />
      <TimeRangeFields range={range} onRange={setRange} />
      <Group>
        <Button
          disabled={against === '' || !isOrdered(range)}
          loading={report.isPending}
          onClick={() => report.mutate({ against, range })}
        >
          {words.start}
        </Button>
      </Group>
      {report.isError && <Failure error={report.error} />}
      {report.data !== undefined && report.variables !== undefined && (
        <Report rule={rule} catalogue={catalogue} data={report.data} asked={report.variables} />
      )}
    </div>
  );
}

interface ReportParts extends Pick<EvidenceParts, 'rule' | 'catalogue'> {
  readonly data: ShadowFindings;
  /** The request that `data` answers: the form may have changed since. */
  readonly asked: ShadowQuestion;
}

function Report({ rule, catalogue, data, asked: { against, range } }: ReportParts) {
  const ruleName = useRuleName();
  const nodeName = nodeNames(rule.flow_json);
  const shown = (value: number | null): string => (value === null ? words.nothing : shownNumber(value));
  const rows = data.differences.flatMap(({ at, actuators, nodes }) =>
    (actuators.length === 0 ? [null] : actuators).map((actuator) => [
      fullTime(at),
      actuator === null ? '' : pointText({ ...actuator, point_type: 'action' }, catalogue),
      actuator === null ? '' : shown(actuator.shadow),
      actuator === null ? '' : shown(actuator.live),
      nodes.map(nodeName).join(', '),
    ]),
  );
  return (
    <>
      <p className={classes['soft']}>{words.of(ruleName(Number(against)), fullTime(range.from), fullTime(range.to))}</p>
      {data.compared === 0 ? (
        <Text size="sm">{words.none}</Text>
      ) : (
        <p className={classes['big']} data-testid="shadow-equal">
          {words.equal(shownShare(data.equal / data.compared), shownNumber(data.equal), shownNumber(data.compared))}
        </p>
      )}
      {data.compared > 0 && rows.length === 0 && <Text size="sm">{words.noDifference}</Text>}
      {rows.length > 0 && (
        <Rows
          all={rows.length}
          heads={[words.at, words.actuator, words.shadowed, words.live, words.nodes]}
          rows={rows.slice(0, rowsMax)}
        />
      )}
    </>
  );
}
