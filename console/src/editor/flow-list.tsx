/** The flow without drawing: every node in the order of the wires, what it does and where it leads. For keyboards, phones and screen readers. */
import { useShownRun } from '../live/run-view.ts';
import { nodeView } from '../node/index.ts';
import { t } from '../strings/index.ts';
import { drawnFlow, useDraft } from './draft-store.ts';
import { useEditor } from './editor-context.ts';
import { configOf, entriesOf, type FlowDocument, type FlowNode, nodeOf, textOf, wiresOf } from './flow-document.ts';
import classes from './flow-list.module.css';
import { drawnKind, elseOutput, nativeKindOf, outputsOf } from './node-kinds.ts';
import { nodeTitle } from './node-names.ts';
import { type ConsoleCatalogue, pointLabel } from './site-catalogue.ts';

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
              {linesOf(node, catalogue).map((line, index) => (
                <li key={index}>{line}</li>
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

/** Start first, then what it leads to, as far as wires go; what none leads to comes last. */
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

function linesOf(node: FlowNode, catalogue: ConsoleCatalogue): string[] {
  const point = (entry: ReturnType<typeof entriesOf>[number], kind: 'measurement' | 'action'): string => {
    const given =
      entry['point_type'] === 'action' || entry['point_type'] === 'measurement' ? entry['point_type'] : kind;
    const facts = catalogue.point({
      instance: Number(entry['instance']),
      point_type: given,
      point: Number(entry['point']),
    });
    return facts === undefined ? '?' : pointLabel(facts);
  };
  const computed = nodeView(nativeKindOf(node)).computed?.(configOf(node));
  return [
    ...entriesOf(node, 'variables').map((entry) => `${textOf(entry['name'])} ← ${point(entry, 'measurement')}`),
    ...entriesOf(node, 'parameters').map((entry) => `${textOf(entry['name'])} ← ${textOf(entry['parameter'])}`),
    ...entriesOf(node, 'assignments').map((entry) => `${textOf(entry['name'])} = ${textOf(entry['expression'])}`),
    ...entriesOf(node, 'branches').map((entry) => `${textOf(entry['name'])}: ${textOf(entry['when'])}`),
    ...entriesOf(node, 'writes').map((entry) => `${point(entry, 'action')} = ${textOf(entry['value'])}`),
    ...(computed === undefined ? [] : [`${computed.name} ← ${computed.from}, ${computed.detail}`]),
  ];
}
