/** The lines inside a drawn node, by kind, each with its result in the shown run. */
import { Handle, Position } from '@xyflow/react';
import type { Fields } from '../../../src/rules/issues.ts';
import { nowMs } from '../clock.ts';
import { type BranchResult, operandsOf, type ShownRun, switchDetails } from '../live/run-view.ts';
import { nodeView } from '../node/index.ts';
import { inWords } from '../parts/moment.tsx';
import { shownNumber, withUnit } from '../parts/number.ts';
import { t } from '../strings/index.ts';
import { useEditor } from './editor-context.ts';
import { configOf, entriesOf, type FlowNode, textOf } from './flow-document.ts';
import classes from './flow-node.module.css';
import { drawnKind, elseOutput, nativeKindOf, outputsOf } from './node-kinds.ts';
import { type ConsoleCatalogue, type ConsolePoint, pointLabel } from './site-catalogue.ts';
import { writeStatus } from './write-status.ts';

const words = t.nodes;

/** Rows shown of a long list; the number of others is shown. */
const rowsMax = 10;

/** An expression with its operands in the shown run. */
function readAs(expression: string, run: ShownRun | null): string {
  const operands = run === null ? '' : operandsOf(expression, run.record.variable_values);
  return operands === '' ? expression : `${expression} (${operands})`;
}

interface RowsParts {
  readonly node: FlowNode;
  readonly run: ShownRun | null;
}

export function NodeRows({ node, run }: RowsParts) {
  const { parts, computed, empty = words.dialect } = nodeView(drawnKind(node));
  // A node of the second dialect is drawn without rows, but for the outputs of its branches.
  if (nativeKindOf(node) === null && !parts.includes('branches')) return <Empty text={words.dialect} />;
  const isHeld = parts.some((part) => (part === 'branches' ? outputsOf(node) : entriesOf(node, part)).length > 0);
  if (parts.length > 0 && !isHeld) return <Empty text={empty} />;
  return (
    <>
      {parts.includes('variables') && <InputRows node={node} run={run} />}
      {parts.includes('branches') && <BranchRows node={node} run={run} />}
      {parts.includes('assignments') && <AssignmentRows node={node} run={run} />}
      {parts.includes('writes') && <WriteRows node={node} run={run} />}
      {computed !== undefined && <ComputedRow {...computed(configOf(node))} run={run} />}
    </>
  );
}

function Empty({ text }: { text: string }) {
  return <div className={`${classes['row']} ${classes['soft']}`}>{text}</div>;
}

function More({ count }: { count: number }) {
  return count > 0 ? <div className={`${classes['row']} ${classes['soft']}`}>… +{count}</div> : null;
}

function pointOf(entry: Fields, catalogue: ConsoleCatalogue, kind: 'measurement' | 'action'): ConsolePoint | undefined {
  const given = entry['point_type'];
  return catalogue.point({
    instance: Number(entry['instance']),
    point: Number(entry['point']),
    point_type: given === 'action' || given === 'measurement' ? given : kind,
  });
}

function Value({
  run,
  name,
  unit,
  title,
}: {
  run: ShownRun | null;
  name: string;
  unit: string;
  title?: string | undefined;
}) {
  if (run === null || !Object.hasOwn(run.record.variable_values, name)) return null;
  const value = run.record.variable_values[name];
  return (
    <span className={classes['value']} data-missing={value === null} title={title}>
      {value === null ? t.runs.unavailable : withUnit(value, unit)}
    </span>
  );
}

function InputRows({ node, run }: RowsParts) {
  const { catalogue } = useEditor();
  const variables = entriesOf(node, 'variables');
  const parameters = entriesOf(node, 'parameters');
  return (
    <>
      {variables.slice(0, rowsMax).map((entry, index) => {
        const point = pointOf(entry, catalogue, 'measurement');
        const name = textOf(entry['name']);
        const live = run?.variables.find((variable) => variable.name === name && variable.node_ids.includes(node.id));
        const age =
          live?.observed_at === null || live === undefined
            ? undefined
            : t.runs.age(inWords(Date.parse(live.observed_at), nowMs()));
        const title = live === undefined ? undefined : [age, t.runs.quality(live.quality)].filter(Boolean).join(', ');
        return (
          <div key={`v${index}`} className={classes['row']}>
            <span className={classes['text']}>
              <span className={classes['code']}>{name}</span>{' '}
              <span className={classes['soft']}>{point === undefined ? '?' : pointLabel(point)}</span>
            </span>
            <Value run={run} name={name} unit={point?.unit ?? ''} title={title} />
          </div>
        );
      })}
      {parameters.slice(0, Math.max(0, rowsMax - variables.length)).map((entry, index) => {
        const facts = catalogue.parameter(textOf(entry['parameter']));
        return (
          <div key={`p${index}`} className={classes['row']}>
            <span className={`${classes['text']} ${classes['code']}`}>{textOf(entry['name'])}</span>
            <span className={classes['soft']}>{withUnit(facts?.value, facts?.unit)}</span>
          </div>
        );
      })}
      <More count={variables.length + parameters.length - rowsMax} />
    </>
  );
}

function BranchRows({ node, run }: RowsParts) {
  const details = run === null ? null : switchDetails(run.record, node.id);
  const branches = new Map(entriesOf(node, 'branches').map((entry) => [textOf(entry['name']), textOf(entry['when'])]));
  const outputs = outputsOf(node);
  return (
    <>
      {outputs.map((output) => {
        const when = branches.get(output);
        const result = details?.branches.find(({ name }) => name === output);
        const taken = details?.output === output;
        const operands =
          run !== null && when !== undefined && result !== undefined
            ? operandsOf(when, run.record.variable_values)
            : '';
        return (
          <div key={output} className={`${classes['row']} ${classes['branch']}`}>
            <span className={classes['text']} title={operands === '' ? when : `${when} (${operands})`}>
              <span className={classes['branchName']}>{output === elseOutput ? words.outputElse : output}</span>{' '}
              {when !== undefined && <span className={`${classes['code']} ${classes['soft']}`}>{when}</span>}
              {operands !== '' && result?.result !== null && (
                <div className={`${classes['text']} ${classes['soft']}`}>{operands}</div>
              )}
            </span>
            <BranchSign result={result} taken={taken} />
            <Handle
              type="source"
              id={output}
              position={Position.Right}
              className={classes['handle'] ?? ''}
              data-taken={taken}
            />
          </div>
        );
      })}
    </>
  );
}

function BranchSign({ result, taken }: { result: BranchResult | undefined; taken: boolean }) {
  if (result === undefined)
    return taken ? (
      <span className={classes['result']} data-result="true">
        ✓
      </span>
    ) : null;
  if (result.result === null)
    return <span className={`${classes['result']} ${classes['soft']}`}>{t.runs.notTried}</span>;
  return (
    <span className={classes['result']} data-result={result.result}>
      {result.result ? `✓ ${t.runs.true}` : `✗ ${t.runs.false}`}
    </span>
  );
}

function AssignmentRows({ node, run }: RowsParts) {
  const entries = entriesOf(node, 'assignments');
  return (
    <>
      {entries.slice(0, rowsMax).map((entry, index) => (
        <div key={index} className={classes['row']}>
          <span className={`${classes['text']} ${classes['code']}`} title={readAs(textOf(entry['expression']), run)}>
            {textOf(entry['name'])} = <span className={classes['soft']}>{textOf(entry['expression'])}</span>
          </span>
          <Value run={run} name={textOf(entry['name'])} unit="" />
        </div>
      ))}
      <More count={entries.length - rowsMax} />
    </>
  );
}

function WriteRows({ node, run }: RowsParts) {
  const { catalogue } = useEditor();
  const entries = entriesOf(node, 'writes');
  const actions = run?.record.actions_executed.filter((action) => action.node_id === node.id) ?? [];
  return (
    <>
      {entries.slice(0, rowsMax).map((entry, index) => {
        const point = pointOf(entry, catalogue, 'action');
        const action = actions[index];
        const status = action === undefined || run === null ? null : writeStatus(action, run.kind);
        return (
          <div key={index}>
            <div className={classes['row']}>
              <span className={classes['text']}>
                {point === undefined ? '?' : pointLabel(point)} ={' '}
                <span className={`${classes['code']} ${classes['soft']}`} title={readAs(textOf(entry['value']), run)}>
                  {textOf(entry['value'])}
                </span>
              </span>
              {action !== undefined && (
                <span className={classes['value']}>{withUnit(action.written ?? action.value, point?.unit)}</span>
              )}
            </div>
            {status !== null && (
              <div className={classes['row']} title={status.hint}>
                <span className={classes['result']} data-result={status.ok ? 'true' : 'bad'}>
                  {status.ok ? '✓' : '✗'} {status.text}
                </span>
              </div>
            )}
          </div>
        );
      })}
      <More count={entries.length - rowsMax} />
    </>
  );
}

interface ComputedParts {
  readonly name: string;
  readonly from: string;
  readonly detail: string;
  readonly run: ShownRun | null;
}

function ComputedRow({ name, from, detail, run }: ComputedParts) {
  return (
    <div className={classes['row']}>
      <span className={`${classes['text']} ${classes['code']}`}>
        {name} ← {from} <span className={classes['soft']}>{detail}</span>
      </span>
      {run !== null && Object.hasOwn(run.record.variable_values, name) && (
        <span className={classes['value']}>{shownNumber(run.record.variable_values[name])}</span>
      )}
    </div>
  );
}
