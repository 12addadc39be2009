/** The problems of a rule, one per line: a line links to its field, and a button fixes what one click can. */
import { Button } from '@mantine/core';
import { t } from '../strings/index.ts';
import { fixWords } from '../strings/problems.ts';
import { drawnFlow, useDraft, useDraftStore } from './draft-store.ts';
import { useEditor } from './editor-context.ts';
import { fixOf } from './fixes.ts';
import { type FlowDocument, nodeOf } from './flow-document.ts';
import { nodeTitle } from './node-names.ts';
import type { Problem } from './problems.ts';
import classes from './problems-panel.module.css';

const words = t.editor.problems;

export function ProblemList({ onRule }: { onRule: (path: string) => void }) {
  const { problems } = useEditor();
  const flow = drawnFlow(useDraft().history.present);
  return (
    <ul className={classes['list']}>
      {problems.map((problem, index) => (
        <ProblemLine key={`${index} ${problem.path}`} problem={problem} flow={flow} onRule={onRule} />
      ))}
    </ul>
  );
}

interface LineParts {
  readonly problem: Problem;
  readonly flow: FlowDocument;
  readonly onRule: (path: string) => void;
}

function ProblemLine({ problem, flow, onRule }: LineParts) {
  const { edit, readOnly } = useEditor();
  const store = useDraftStore();
  const fix = readOnly ? null : fixOf(problem, flow);
  return (
    <li className={classes['line']}>
      <button
        type="button"
        className={classes['problem']}
        onClick={() => (problem.node_id === undefined ? onRule(problem.path) : edit(problem.node_id, problem.path))}
      >
        <span className={classes['severity']} data-severity={problem.severity}>
          {words[problem.severity]}
        </span>
        <span className={classes['place']}>{placeOf(problem, flow)}</span>
        <span className={classes['message']}>
          {problem.message}
          {problem.hint !== undefined && <span className={classes['hint']}> {problem.hint}</span>}
        </span>
      </button>
      {fix !== null && (
        <Button
          size="compact-xs"
          variant="light"
          aria-label={fixWords.fix(fix.label)}
          onClick={() => store.editFlow(fix.apply)}
        >
          {fix.label}
        </Button>
      )}
    </li>
  );
}

function placeOf({ part, node_id: id }: Problem, flow: FlowDocument): string {
  if (part === 'trigger') return words.trigger;
  const node = id === undefined ? undefined : nodeOf(flow, id);
  return node === undefined ? words.whole : nodeTitle(node);
}
