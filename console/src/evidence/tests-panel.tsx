/** The tests of a rule [rules §11]: each with its result on the stored flow, changed here and stored as a whole. */
import { Button, Group, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { ruleTestsMax } from '../../../src/api/rule-limits.ts';
import type { NodeParts } from '../../../src/rules/node/parts.ts';
import { parseFlow } from '../../../src/rules/parse.ts';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Notice, Tag } from '../parts/tag.tsx';
import type { StoredRule } from '../server/queries.ts';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { evidenceWords } from '../strings/evidence.ts';
import classes from './evidence.module.css';
import { type TestDraft, useTestResults, valuesNow } from './evidence-queries.ts';
import { nodeNames } from './node-names.ts';
import { SaveTestsDialog } from './save-tests-dialog.tsx';
import { TakenRun } from './taken-run.tsx';
import type { Actuator } from './test-form.tsx';
import { TestItem } from './test-item.tsx';

const words = evidenceWords.tests;

export interface EvidenceParts {
  readonly rule: StoredRule;
  readonly catalogue: ConsoleCatalogue;
  /** The execution that becomes a test; null without one. */
  readonly run: string | null;
}

/** A test with a key of its own: names change during typing. */
interface KeyedTest {
  readonly key: number;
  readonly test: TestDraft;
}

/** Unsaved changes, and their base revision, so that a newer one is not overwritten. */
interface Edited {
  readonly revision: number;
  readonly list: readonly KeyedTest[];
}

/** Kept while other pages are open, until sign-out. */
function useEdited(rule: StoredRule) {
  const queries = useQueryClient();
  const key = ['edited-tests', rule.id];
  const [edited, setState] = useState(() => queries.getQueryData<Edited>(key) ?? null);
  const setEdited = (next: Edited | null): void => {
    queries.setQueryDefaults(key, { gcTime: Infinity });
    queries.setQueryData(key, next);
    setState(next);
  };
  const isUnsaved = edited !== null;
  useEffect(() => {
    if (!isUnsaved) return;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [isUnsaved]);
  return {
    edited,
    shown: edited?.list ?? rule.tests.map((test, key) => ({ key, test })),
    edit: (list: readonly KeyedTest[]) => setEdited({ revision: edited?.revision ?? rule.revision, list }),
    discard: () => setEdited(null),
  };
}

export function TestsPanel({ rule, catalogue, run }: EvidenceParts) {
  const { edited, shown, edit, discard } = useEdited(rule);
  const [isSaving, setSaving] = useState(false);
  const session = useSession();
  const mayChange = session.status !== 'out' && mayManage(session.facts.role);
  const tests = shown.map(({ test }) => test);
  const hasFlow = rule.flow_json !== null || Object.keys(rule.nodes_json).length > 0;
  const faults = faultsOf(tests);
  const isSound = faults.every((fault) => fault === null);
  const actuators = useMemo(() => actuatorsOf(rule, catalogue), [rule, catalogue]);
  const nodeName = useMemo(() => nodeNames(rule.flow_json), [rule]);
  const results = useTestResults(rule.id, tests, hasFlow && isSound);
  const add = (test: TestDraft): void => {
    const key = 1 + Math.max(-1, ...shown.map((each) => each.key));
    edit([...shown, { key, test: { ...test, name: freeName(test.name, tests) } }]);
  };
  const addNow = useMutation({ mutationFn: () => testOfNow(rule.id), onSuccess: add });
  if (!hasFlow) return <Notice tone="info">{words.noFlow}</Notice>;
  const isFull = tests.length >= ruleTestsMax;
  const result = results.data;
  return (
    <div className={classes['column']} data-testid="tests">
      <p className={classes['soft']}>{words.lead}</p>
      {run !== null && mayChange && isFull && <Notice tone="warn">{words.full(ruleTestsMax)}</Notice>}
      {run !== null && mayChange && !isFull && <TakenRun rule={rule} catalogue={catalogue} run={run} onTest={add} />}
      {tests.length > 0 && isSound && result !== undefined && (
        <Text fw={600} data-testid="summary">
          {words.summary(result.passed, result.failed)} ({evidenceWords.revision(rule.revision)})
        </Text>
      )}
      {results.isError && <Failure error={results.error} onRetry={() => void results.refetch()} />}
      {tests.length === 0 && <Text size="sm">{words.none}</Text>}
      <ul className={classes['tests']}>
        {shown.map(({ key, test }, index) => (
          <li key={key}>
            <TestItem
              test={test}
              fault={faults[index] ?? null}
              // The results of these tests, not of the ones before the last change.
              result={results.isPlaceholderData ? null : (result?.results[index] ?? null)}
              catalogue={catalogue}
              actuators={actuators}
              nodeName={nodeName}
              readOnly={!mayChange}
              isNew={edited !== null && !rule.tests.includes(test)}
              onChange={(next) => edit(shown.map((each) => (each.key === key ? { key, test: next } : each)))}
              onRemove={() => edit(shown.filter((each) => each.key !== key))}
            />
          </li>
        ))}
      </ul>
      {mayChange && (
        <Group>
          <Button
            variant="default"
            disabled={isFull}
            title={isFull ? words.full(ruleTestsMax) : undefined}
            loading={addNow.isPending}
            onClick={() => addNow.mutate()}
          >
            {words.add}
          </Button>
          {edited !== null && <Unsaved canSave={isSound} onSave={() => setSaving(true)} onDiscard={discard} />}
        </Group>
      )}
      {addNow.isError && <Failure error={addNow.error} />}
      {isSaving && (
        <SaveTestsDialog
          ruleId={rule.id}
          revision={edited?.revision ?? rule.revision}
          tests={tests}
          failed={result?.failed ?? 0}
          onClose={() => setSaving(false)}
          onSaved={(revision) => {
            announce(words.saved(revision));
            discard();
            setSaving(false);
          }}
        />
      )}
    </div>
  );
}

function Unsaved({ canSave, onSave, onDiscard }: { canSave: boolean; onSave: () => void; onDiscard: () => void }) {
  return (
    <>
      <Button disabled={!canSave} onClick={onSave}>
        {words.save}
      </Button>
      <Button variant="default" onClick={onDiscard}>
        {words.discard}
      </Button>
      <Tag tone="warn">{words.unsaved}</Tag>
    </>
  );
}

/** The points that the stored flow may write. */
function actuatorsOf(rule: StoredRule, catalogue: ConsoleCatalogue): Actuator[] {
  const parsed = parseFlow(rule.flow_json, catalogue);
  if (!parsed.ok) return [];
  const nodes: NodeParts[] = [...parsed.topology.nodes.values()];
  return nodes.flatMap(({ writes = [] }) => writes).map(({ instance, point }) => ({ instance, point }));
}

/** The errors that keep a test from being sent. */
function faultsOf(tests: readonly TestDraft[]): (string | null)[] {
  const names = tests.map(({ name }) => name);
  return names.map((name, index) => {
    if (name.trim() === '') return words.nameNeeded;
    return names.indexOf(name) === index ? null : words.nameTaken;
  });
}

function freeName(name: string, tests: readonly TestDraft[]): string {
  const taken = new Set(tests.map((test) => test.name));
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? name : `${name} (${count})`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** Digits of a current value, which nobody needs in full. */
const digits = 6;

/** A test with the current values; its user adds the expected decision. */
async function testOfNow(ruleId: number): Promise<TestDraft> {
  const variables = await valuesNow(ruleId);
  const given = new Map(
    variables.map(({ instance, point_type, point, value }) => [
      `${instance}:${point_type}:${point}`,
      { instance, point_type, point, value: value === null ? null : Number(value.toPrecision(digits)) },
    ]),
  );
  return { name: words.newName, given: [...given.values()], then: { outcome: 'acted', writes: [] } };
}
