/** Everything that is wrong, in one place; each line leads to where it can be put right. */
import { UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { Tag } from '../parts/tag.tsx';
import { t } from '../strings/index.ts';
import { drawnFlow, useDraft } from './draft-store.ts';
import { useEditor } from './editor-context.ts';
import { nodeOf } from './flow-document.ts';
import { nodeTitle } from './node-names.ts';
import type { Problem } from './problems.ts';
import classes from './problems-panel.module.css';

const words = t.editor.problems;

function countWords(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const warnings = problems.length - errors;
  const parts = [errors > 0 ? words.errors(errors) : '', warnings > 0 ? words.warnings(warnings) : ''].filter(Boolean);
  return parts.length === 0 ? words.none : parts.join(', ');
}

export function ProblemsPanel({ onRule }: { onRule: (path: string) => void }) {
  const { problems, edit } = useEditor();
  const { history } = useDraft();
  const [opened, setOpened] = useState(true);
  const flow = drawnFlow(history.present);
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const tone = errors > 0 ? 'bad' : problems.length > 0 ? 'warn' : 'good';
  const place = (problem: Problem): string => {
    if (problem.part === 'trigger') return words.trigger;
    const node = problem.node_id === undefined ? undefined : nodeOf(flow, problem.node_id);
    return node === undefined ? words.whole : nodeTitle(node);
  };
  return (
    <section className={classes['panel']} aria-label={words.title} data-testid="problems">
      <UnstyledButton
        className={classes['head'] ?? ''}
        aria-expanded={opened && problems.length > 0}
        disabled={problems.length === 0}
        onClick={() => setOpened(!opened)}
      >
        <Tag tone={tone}>{countWords(problems)}</Tag>
      </UnstyledButton>
      {opened && problems.length > 0 && (
        <ul className={classes['list']}>
          {problems.map((problem, index) => (
            <li key={`${index} ${problem.path}`}>
              <button
                type="button"
                className={classes['problem']}
                onClick={() =>
                  problem.node_id === undefined ? onRule(problem.path) : edit(problem.node_id, problem.path)
                }
              >
                <span className={classes['severity']} data-severity={problem.severity}>
                  {words[problem.severity]}
                </span>
                <span className={classes['place']}>{place(problem)}</span>
                <span className={classes['message']}>
                  {problem.message}
                  {problem.hint !== undefined && <span className={classes['hint']}> {problem.hint}</span>}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
