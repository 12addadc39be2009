/** Queries and mutations of the template dialogs [rules §13]. */
import { useMutation, useQuery } from '@tanstack/react-query';
import type { Static } from 'typebox';
import type { CallInput } from '../../../src/api/client.ts';
import { ruleTemplates } from '../../../src/api/rule-templates.ts';
import { call } from '../server/calls.ts';
import { queryClient, refreshRule } from '../server/queries.ts';

export type TemplateView = Static<typeof ruleTemplates.list.answer>['data']['templates'][number];
type Instantiation = NonNullable<CallInput<typeof ruleTemplates.instantiate>['body']>;

/** Those of the package, or one rule as a template. */
export function useTemplates(ruleId: number | null) {
  return useQuery({
    queryKey: ['templates', ruleId],
    queryFn: async () =>
      (await call(ruleTemplates.list, { query: ruleId === null ? {} : { rule: String(ruleId) } })).data.data.templates,
  });
}

export function useInstantiate(done: (made: Static<typeof ruleTemplates.instantiate.answer>['data']) => void) {
  return useMutation({
    mutationFn: async (body: Instantiation) =>
      (await call(ruleTemplates.instantiate, { body, confirmed: true })).data.data,
    onSuccess(made) {
      void queryClient.invalidateQueries({ queryKey: ['rules'] });
      done(made);
    },
  });
}

export function useTemplateDifference(ruleId: number, revision: number) {
  return useQuery({
    queryKey: ['rule', ruleId, 'template-difference', revision],
    gcTime: 0,
    retry: false,
    queryFn: async () => (await call(ruleTemplates.difference, { params: { id: ruleId }, body: {} })).data.data,
  });
}

type Updated = Static<typeof ruleTemplates.update.answer>['data'];

export function useTemplateUpdate(ruleId: number, revision: number, done: (updated: Updated) => void) {
  return useMutation({
    mutationFn: async () => {
      const body = { expected_revision: revision };
      return (await call(ruleTemplates.update, { params: { id: ruleId }, body, confirmed: true })).data.data;
    },
    async onSuccess(updated) {
      await refreshRule(ruleId);
      done(updated);
    },
  });
}
