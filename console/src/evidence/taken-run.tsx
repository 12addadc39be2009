/** A run of the history that becomes a test [rules §11.3]. */
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { parseFlow } from '../../../src/rules/parse.ts';
import type { RuleTest } from '../../../src/rules/rule-test.ts';
import { testOfRun } from '../../../src/rules/test-of-run.ts';
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { runOf } from '../history/history-queries.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { fullTime } from '../parts/moment.tsx';
import type { StoredRule } from '../server/queries.ts';
import { evidenceWords } from '../strings/evidence.ts';
import { revisionOf, type TestDraft } from './evidence-queries.ts';

const words = evidenceWords.tests;

interface TakenParts {
  readonly rule: StoredRule;
  readonly catalogue: ConsoleCatalogue;
  readonly run: string;
  readonly onTest: (test: TestDraft) => void;
}

/** Makes a test of a run from the history, and takes the run out of the address. */
export function TakenRun({ rule, catalogue, run, onTest }: TakenParts) {
  const navigate = useNavigate();
  const { mutate, error } = useMutation({
    mutationFn: async (executionId: string): Promise<TestDraft> => {
      const past = await runOf(rule.id, executionId);
      if (past === null) throw new Error(words.runGone);
      const parsed = parseFlow((await revisionOf(rule.id, past.rule_revision)).flow_json, catalogue);
      if (!parsed.ok) throw new Error(words.notFits);
      return draftOf(testOfRun(past, parsed.topology, words.fromRun(fullTime(past.started_at))));
    },
    onSuccess(made) {
      onTest(made);
      announce(words.taken);
      void navigate({
        to: '/rules/$ruleId/evidence',
        params: { ruleId: String(rule.id) },
        search: { part: 'tests' },
        replace: true,
      });
    },
  });
  useEffect(() => mutate(run), [run, mutate]);
  return error === null ? null : <Failure error={error} onRetry={() => mutate(run)} />;
}

/** As the API takes it. */
function draftOf({ name, at, given, parameters, then: { outcome, writes, output } }: RuleTest): TestDraft {
  return {
    name,
    ...(at === undefined ? {} : { at }),
    given: [...given],
    ...(parameters === undefined ? {} : { parameters }),
    then: {
      ...(outcome === undefined ? {} : { outcome }),
      ...(writes === undefined ? {} : { writes: [...writes] }),
      ...(output === undefined ? {} : { output }),
    },
  };
}
