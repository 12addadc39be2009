/** The flow as a list: every node in the order of the wires, what it does and where it leads. For keyboards, phones and screen readers. */
import type { Fields } from '../../../src/rules/issues.ts';
import { type ShownRun, switchDetails, useShownRun } from '../live/run-view.ts';
import { nodeView } from '../node/index.ts';
import { withUnit } from '../parts/number.ts';
import { t } from '../strings/index.ts';
import { drawnFlow, useDraft } from './draft-store.ts';
import { useEditor } from './editor-context.ts';
import { configOf, entriesOf, type FlowDocument, type FlowNode, nodeOf, textOf, wiresOf } from './flow-document.ts';
import classes from './flow-list.module.css';
import { drawnKind, elseOutput, nativeKindOf, outputsOf } from './node-kinds.ts';
import { nodeTitle } from './node-names.ts';
import { type ConsoleCatalogue, type ConsolePoint, pointLabel } from './site-catalogue.ts';
import { writeStatus } from './write-status.ts';

const words = t.nodes;

export function FlowList() {
  const { history } = useDraft();
  const { selected, edit, problems, catalogue } = useEditor();
  const run = useShownRun();
  const flow = drawnFlow(history.present);
  return (
    <ol className={classes['list']} aria-label={words.list.label} data-testid="flow-list">
      {inWireOrder(flow).map((node) => {
        const title = nodeTitle(node);
        const visited = run?.visited.has(node.id) === true;
        const trouble = run?.troubles.get(node.id) ?? '';
        const own = problems.filter((problem) => problem.node_id === node.id);
        return (
          <li key={node.id} className={classes['item']} data-selected={selected.has(node.id)} data-visited={visited}>
            <div className={classes['head']}>
              <button
                type="button"
                className={classes['title']}
                aria-label={words.list.edit(title)}
                onClick={() => edit(node.id)}
              >
                {title}
              </button>
              <span className={classes['soft']}>{nodeView(drawnKind(node)).title}</span>
              <span className={classes['soft']}>{node.id}</span>
              {visited && <span className={classes['soft']}>{words.list.path}</span>}
            </div>
            <ul className={classes['lines']}>
              {linesOf(node, catalogue, run).map(({ text, value }, index) => (
                <li key={index}>
                  {text}
                  {value !== null && <strong className={classes['value']}> {value}</strong>}
                </li>
              ))}
              {outputsOf(node).map((output) => (
                <li key={`to ${output}`}>{leadsTo(flow, node, output)}</li>
              ))}
            </ul>
            {trouble !== '' && <div className={classes['problem']}>{trouble}</div>}
            {own.map(({ message, path }) => (
              <div key={path + message} className={classes['problem']}>
                {message}
              </div>
            ))}
          </li>
        );
      })}
    </ol>
  );
}

/** From the start along the wires; unreachable nodes come last. */
function inWireOrder(flow: FlowDocument): FlowNode[] {
  const ordered = new Map<string, FlowNode>();
  const open = flow.nodes.filter(({ type }) => type === 'start');
  for (let node = open.shift(); node !== undefined; node = open.shift()) {
    if (ordered.has(node.id)) continue;
    ordered.set(node.id, node);
    for (const output of outputsOf(node))
      for (const target of wiresOf(node)[output] ?? []) {
        const next = nodeOf(flow, target);
        if (next !== undefined) open.push(next);
      }
  }
  return [...ordered.values(), ...flow.nodes.filter(({ id }) => !ordered.has(id))];
}

function leadsTo(flow: FlowDocument, node: FlowNode, output: string): string {
  const targets = (wiresOf(node)[output] ?? []).map((id) => {
    const target = nodeOf(flow, id);
    return target === undefined ? id : nodeTitle(target);
  });
  const name = output === 'default' ? '' : `${output === elseOutput ? words.outputElse : output}: `;
  return name + (targets.length === 0 ? words.list.nothing : words.list.leadsTo(targets.join(', ')));
}

interface Line {
  readonly text: string;
  /** Its value in the shown run; null without one. */
  readonly value: string | null;
}

/** The value that the run read or computed under this name. */
function valueIn(run: ShownRun | null, name: string, unit = ''): string | null {
  if (run === null || !Object.hasOwn(run.record.variable_values, name)) return null;
  const value = run.record.variable_values[name];
  return value === null || value === undefined ? t.runs.unavailable : withUnit(value, unit);
}

function writtenIn(run: ShownRun | null, node: FlowNode, index: number, unit: string | undefined): string | null {
  const action = run?.record.actions_executed.filter(({ node_id: id }) => id === node.id)[index];
  if (run === null || action === undefined) return null;
  return `${withUnit(action.written ?? action.value, unit)}, ${writeStatus(action, run.kind).text}`;
}

function resultIn(run: ShownRun | null, node: FlowNode, branch: string): string | null {
  const result =
    run === null ? undefined : switchDetails(run.record, node.id)?.branches.find(({ name }) => name === branch);
  if (result === undefined) return null;
  return result.result === null ? t.runs.notTried : result.result ? t.runs.true : t.runs.false;
}

function linesOf(node: FlowNode, catalogue: ConsoleCatalogue, run: ShownRun | null): Line[] {
  const pointOf = (entry: Fields, kind: 'measurement' | 'action'): ConsolePoint | undefined => {
    const given =
      entry['point_type'] === 'action' || entry['point_type'] === 'measurement' ? entry['point_type'] : kind;
    return catalogue.point({
      instance: Number(entry['instance']),
      point_type: given,
      point: Number(entry['point']),
    });
  };
  const labelled = (point: ConsolePoint | undefined): string => (point === undefined ? '?' : pointLabel(point));
  const computed = nodeView(nativeKindOf(node)).computed?.(configOf(node));
  const named = (entry: Fields): string => textOf(entry['name']);
  return [
    ...entriesOf(node, 'variables').map((entry) => {
      const point = pointOf(entry, 'measurement');
      return { text: `${named(entry)} ← ${labelled(point)}`, value: valueIn(run, named(entry), point?.unit) };
    }),
    ...entriesOf(node, 'parameters').map((entry) => ({
      text: `${named(entry)} ← ${textOf(entry['parameter'])}`,
      value: valueIn(run, named(entry), catalogue.parameter(textOf(entry['parameter']))?.unit),
    })),
    ...entriesOf(node, 'assignments').map((entry) => ({
      text: `${named(entry)} = ${textOf(entry['expression'])}`,
      value: valueIn(run, named(entry)),
    })),
    ...entriesOf(node, 'branches').map((entry) => ({
      text: `${named(entry)}: ${textOf(entry['when'])}`,
      value: resultIn(run, node, named(entry)),
    })),
    ...entriesOf(node, 'writes').map((entry, index) => {
      const point = pointOf(entry, 'action');
      return {
        text: `${labelled(point)} = ${textOf(entry['value'])}`,
        value: writtenIn(run, node, index, point?.unit),
      };
    }),
    ...(computed === undefined
      ? []
      : [{ text: `${computed.name} ← ${computed.from}, ${computed.detail}`, value: valueIn(run, computed.name) }]),
  ];
}
