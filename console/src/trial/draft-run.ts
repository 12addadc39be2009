/**
 * The outcome of a draft on live values, evaluated in the page and refreshed. While the drawing differs from the stored flow,
 * runs of the stored rule are hidden: they belong to another flow.
 */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { Topology } from '../../../src/rules/topology.ts';
import { nowMs } from '../clock.ts';
import type { Content } from '../editor/draft-history.ts';
import { configOf, type FlowDocument } from '../editor/flow-document.ts';
import { type ConsoleCatalogue, pointKey } from '../editor/site-catalogue.ts';
import { type ShownRun, shownRun } from '../live/run-view.ts';
import { call } from '../server/calls.ts';
import type { StoredRule } from '../server/queries.ts';
import type { evaluateTrial } from './evaluate.ts';
import type { preparedTrial, readsOf } from './trial-rule.ts';

const pollMs = 2000;

interface Evaluation {
  readonly evaluateTrial: typeof evaluateTrial;
  readonly preparedTrial: typeof preparedTrial;
  readonly readsOf: typeof readsOf;
}

/** The part of a flow that runs depend on: positions and labels are left out. */
export function logicOf(flow: FlowDocument | null): string {
  const nodes = (flow?.nodes ?? []).toSorted((one, other) => (one.id < other.id ? -1 : 1));
  return JSON.stringify(nodes.map((node) => [node.id, node.type, configOf(node)]));
}

/** Values of the points that the draft reads, by point; absent until they came. */
function useLiveValues(topology: Topology | null, isNeeded: boolean): ReadonlyMap<string, number | null> | undefined {
  const instances = useMemo(() => {
    const read = [...(topology?.nodes.values() ?? [])].flatMap((node) =>
      'variables' in node ? (node.variables ?? []) : [],
    );
    return [...new Set(read.map(({ instance }) => instance))].toSorted((a, b) => a - b);
  }, [topology]);
  return useQuery({
    queryKey: ['draft-values', ...instances],
    enabled: isNeeded,
    refetchInterval: pollMs,
    queryFn: async () => {
      const { points } = await import('../../../src/api/points.ts');
      const values = new Map<string, number | null>();
      for (const instance of instances) {
        const query = { instance: String(instance), page_size: '500' };
        const { list } = (await call(points.list, { query })).data.data;
        for (const { point_type, point, value, quality } of list)
          values.set(pointKey({ instance, point_type, point }), quality === 'good' ? value : null);
      }
      return values;
    },
  }).data;
}

interface DraftParts {
  readonly rule: StoredRule;
  readonly content: Content;
  readonly topology: Topology | null;
  readonly catalogue: ConsoleCatalogue;
}

/** Null while the draft is the stored flow, while it has errors, and until its values are there. */
export function useDraftRun({ rule, content, topology, catalogue }: DraftParts, isOther: boolean): ShownRun | null {
  const [evaluation, setEvaluation] = useState<Evaluation | null>(null);
  useEffect(() => {
    if (!isOther || evaluation !== null) return;
    Promise.all([import('./evaluate.ts'), import('./trial-rule.ts')]).then(
      ([evaluate, trial]) => setEvaluation({ ...evaluate, ...trial }),
      // Without it the draft is shown without values.
      () => undefined,
    );
  }, [isOther, evaluation]);
  const values = useLiveValues(topology, isOther && topology !== null);
  const { id, revision } = rule;
  const prepared = useMemo(
    () =>
      isOther ? (evaluation?.preparedTrial({ ruleId: id, revision, content, topology, catalogue }) ?? null) : null,
    [isOther, evaluation, id, revision, content, topology, catalogue],
  );
  return useMemo(() => {
    if (prepared === null || evaluation === null || topology === null || values === undefined) return null;
    const given = evaluation
      .readsOf(topology, catalogue)
      .map(({ point }): [number, number | null] => [point.index, values.get(pointKey(point)) ?? null]);
    const now = nowMs();
    return shownRun(
      evaluation.evaluateTrial(prepared, { values: new Map(given), wallMs: now, monotonicMs: now }),
      'draft',
    );
  }, [prepared, evaluation, topology, values, catalogue]);
}
