/** All problems in one place. */
import { UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { later } from '../parts/later.tsx';
import { Tag } from '../parts/tag.tsx';
import { t } from '../strings/index.ts';
import { useEditor } from './editor-context.ts';
import type { Problem } from './problems.ts';
import classes from './problems-panel.module.css';

const words = t.editor.problems;
/** Loaded on demand: most rules have no problem. */
const ProblemList = later(async () => (await import('./problem-list.tsx')).ProblemList);

function countWords(problems: readonly Problem[]): string {
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const warnings = problems.length - errors;
  const parts = [errors > 0 ? words.errors(errors) : '', warnings > 0 ? words.warnings(warnings) : ''].filter(Boolean);
  return parts.length === 0 ? words.none : parts.join(', ');
}

export function ProblemsPanel({ onRule }: { onRule: (path: string) => void }) {
  const { problems } = useEditor();
  const [opened, setOpened] = useState(true);
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const tone = errors > 0 ? 'bad' : problems.length > 0 ? 'warn' : 'good';
  const isShown = opened && problems.length > 0;
  return (
    <section className={classes['panel']} aria-label={words.title} data-testid="problems">
      <UnstyledButton
        className={classes['head'] ?? ''}
        aria-expanded={isShown}
        disabled={problems.length === 0}
        onClick={() => setOpened(!opened)}
      >
        <Tag tone={tone}>{countWords(problems)}</Tag>
      </UnstyledButton>
      {isShown && <ProblemList onRule={onRule} />}
    </section>
  );
}
