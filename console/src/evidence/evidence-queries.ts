/** Queries and mutations of the evidence pages: tests, backtests and shadow reports. */
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import { automation } from '../../../src/api/automation.ts';
import type { testList } from '../../../src/api/automation-schemas.ts';
import { ruleBacktest } from '../../../src/api/backtest.ts';
import type { CallInput } from '../../../src/api/client.ts';
import { revisions } from '../../../src/api/revisions.ts';
import { ruleTests } from '../../../src/api/rule-tests.ts';
import { call } from '../server/calls.ts';
import { refreshRule } from '../server/queries.ts';
import type { TimeRange } from './time-range.tsx';

export type TestDraft = Static<typeof testList>[number];
export type TestResult = Static<(typeof ruleTests)['run']['answer']>['data']['results'][number];
export type BacktestView = Static<(typeof ruleBacktest)['run']['answer']>['data'];
export type ShadowFindings = Static<(typeof automation)['shadowReport']['answer']>['data'];
export type BacktestOrder = NonNullable<CallInput<(typeof ruleBacktest)['run']>['body']>;

/** Longer than any deadline that a site may set, so that the refusal of the service is shown. */
const backtestDeadlineMs = 3_660_000;

/** Test results of the stored flow; while tests change, the previous result stays visible. */
export function useTestResults(ruleId: number, tests: readonly TestDraft[], enabled: boolean) {
  return useQuery({
    queryKey: ['rule', ruleId, 'tests', tests],
    enabled: enabled && tests.length > 0,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: async ({ signal }) =>
      (await call(ruleTests.run, { body: { rule_id: ruleId, tests: [...tests] }, signal })).data.data,
  });
}

export function useStoreTests(ruleId: number, done: (revision: number) => void) {
  return useMutation({
    mutationFn: async (order: { tests: readonly TestDraft[]; revision: number; reason: string }) => {
      const { revision: expectedRevision, reason } = order;
      const body = { tests: [...order.tests], ...(reason.trim() === '' ? {} : { reason: reason.trim() }) };
      const input = { params: { id: ruleId }, body, expectedRevision, confirmed: true };
      return (await call(automation.update, input)).revision ?? expectedRevision + 1;
    },
    async onSuccess(revision) {
      await refreshRule(ruleId);
      done(revision);
    },
  });
}

/** The content of a past revision; it never changes again. */
export async function revisionOf(ruleId: number, revision: number) {
  const params = { id: String(ruleId), revision: String(revision) };
  return (await call(revisions.get, { params })).data.data.document;
}

/** The values that the rule would read now. */
export async function valuesNow(ruleId: number) {
  return (await call(automation.variables, { params: { id: ruleId } })).data.data.variables;
}

interface BacktestRun {
  readonly order: BacktestOrder;
  readonly signal: AbortSignal;
  readonly onProgress: (share: number) => void;
}

export function useBacktest(ruleId: number) {
  return useMutation({
    mutationFn: async ({ order, ...watched }: BacktestRun) => {
      const input = { params: { id: ruleId }, body: order, deadlineMs: backtestDeadlineMs, ...watched };
      return (await call(ruleBacktest.run, input)).data.data;
    },
  });
}

export interface ShadowQuestion {
  /** The id of the other rule. */
  readonly against: string;
  readonly range: TimeRange;
}

export function useShadowReport(ruleId: number) {
  return useMutation({
    mutationFn: async ({ against, range }: ShadowQuestion) => {
      const query = { against, ...range };
      return (await call(automation.shadowReport, { params: { id: ruleId }, query })).data.data;
    },
  });
}
