/** One test of a rule: its result, its fields, and where the rule did something else than expected. */
import { Button, Group } from '@mantine/core';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { Tag } from '../parts/tag.tsx';
import { evidenceWords } from '../strings/evidence.ts';
import { testDifference } from './difference-words.ts';
import classes from './evidence.module.css';
import type { TestDraft, TestResult } from './evidence-queries.ts';
import type { NodeNames } from './node-names.ts';
import { type Actuator, TestForm } from './test-form.tsx';

const words = evidenceWords.tests;

interface ItemParts {
  readonly test: TestDraft;
  readonly fault: string | null;
  /** Null while it is not known. */
  readonly result: TestResult | null;
  readonly catalogue: ConsoleCatalogue;
  readonly actuators: readonly Actuator[];
  readonly nodeName: NodeNames;
  readonly readOnly: boolean;
  readonly isNew: boolean;
  readonly onChange: (test: TestDraft) => void;
  readonly onRemove: () => void;
}

export function TestItem({ test, fault, result, isNew, onRemove, ...form }: ItemParts) {
  const { readOnly, onChange } = form;
  const tone = result === null ? 'calm' : result.passed ? 'good' : 'bad';
  const state = result === null ? words.running : result.passed ? words.passed : words.failed;
  return (
    <details className={classes['test']} open={isNew} data-test={test.name}>
      <summary>
        <Tag tone={fault === null ? tone : 'warn'}>{fault ?? state}</Tag>
        <span>{test.name}</span>
      </summary>
      <TestForm test={test} {...form} />
      {result !== null && result.error !== null && <p className={classes['soft']}>{result.error}</p>}
      {result !== null && !result.passed && (
        <ul className={classes['differences']} aria-label={words.failed}>
          {result.differences.map((difference) => {
            const told = testDifference(difference, form.catalogue, form.nodeName);
            return <li key={difference.field}>{words.differs(...told)}</li>;
          })}
        </ul>
      )}
      {!readOnly && (
        <Group mt="sm">
          {result !== null && result.outcome !== null && !result.passed && (
            <Button size="compact-sm" variant="default" onClick={() => onChange(accepted(test, result))}>
              {words.accept}
            </Button>
          )}
          <Button size="compact-sm" variant="default" onClick={onRemove}>
            {words.remove}
          </Button>
        </Group>
      )}
    </details>
  );
}

/** The test as the rule passes it: what it compares is what the rule did. A decision that the run did not come to is left out. */
function accepted(test: TestDraft, { outcome, writes, differences }: TestResult): TestDraft {
  const { output, ...then } = test.then;
  const other = differences.find(({ field }) => field.startsWith('/then/output'));
  const name = other === undefined ? output?.name : other.actual;
  return {
    ...test,
    then: {
      ...(outcome === null ? {} : { outcome }),
      ...(then.writes === undefined ? {} : { writes }),
      ...(output !== undefined && typeof name === 'string' ? { output: { ...output, name } } : {}),
    },
  };
}
