/** The rules that read a point, with their comparisons, and those that write it. */
import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Failure } from '../parts/failure.tsx';
import { withUnit } from '../parts/number.ts';
import { Tag } from '../parts/tag.tsx';
import { pointWords } from '../strings/points.ts';
import { inputsOf, type PointEntry, type PointRules, usePointRules } from './point-queries.ts';
import { keyOf } from './point-words.ts';
import classes from './points.module.css';
import { useTrendView } from './trend-view.ts';

const words = pointWords.rules;

export function PointRulesPanel({ point }: { point: PointEntry }) {
  const rules = usePointRules(point);
  const { readers = [], writers = [] } = rules.data ?? {};
  return (
    <section className={classes['panel']} aria-labelledby="point-rules">
      <h2 id="point-rules" className={classes['heading']}>
        {words.title}
      </h2>
      {rules.isError && <Failure error={rules.error} />}
      {rules.data !== undefined && readers.length + writers.length === 0 && (
        <p className={classes['soft']}>{words.none}</p>
      )}
      {readers.length > 0 && (
        <RuleList title={words.readers}>
          {readers.map((rule) => (
            <RuleRow key={rule.rule_id} rule={rule}>
              {rule.thresholds.length > 0 &&
                words.thresholds(
                  rule.thresholds.map(({ operator, value }) => `${operator} ${withUnit(value, point.unit)}`).join(', '),
                )}
            </RuleRow>
          ))}
        </RuleList>
      )}
      {writers.length > 0 && (
        <RuleList title={words.writers}>
          {writers.map((rule) => (
            <RuleRow key={rule.rule_id} rule={rule}>
              {words.nodes(rule.node_ids.length)}
            </RuleRow>
          ))}
        </RuleList>
      )}
    </section>
  );
}

function RuleList({ title, children }: { title: string; children: ReactNode }) {
  return (
    <>
      <h3 className={classes['subheading']}>{title}</h3>
      <ul className={classes['list']}>{children}</ul>
    </>
  );
}

function RuleRow({ rule, children }: { rule: PointRules['writers' | 'readers'][number]; children: ReactNode }) {
  const { onCompare } = useTrendView();
  const compare = useMutation({
    mutationFn: () => inputsOf(rule.rule_id),
    onSuccess: (inputs) => onCompare(inputs.map(keyOf)),
  });
  return (
    <li className={classes['row']}>
      <Link to="/rules/$ruleId" params={{ ruleId: String(rule.rule_id) }} className={classes['name'] ?? ''}>
        {rule.name}
      </Link>
      {!rule.enabled && <Tag tone="calm">{words.disabled}</Tag>}
      <span className={classes['soft']}>{children}</span>
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`${words.compare}: ${rule.name}`}
        loading={compare.isPending}
        onClick={() => compare.mutate()}
      >
        {words.compare}
      </Button>
      {compare.isError && <Failure error={compare.error} />}
    </li>
  );
}
