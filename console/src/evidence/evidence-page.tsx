/** The evidence for a rule before it commands: its tests, a backtest on recorded history, its report from shadow. */
import { Skeleton } from '@mantine/core';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { type EvidencePart, evidenceParts } from '../addresses.ts';
import { Failure } from '../parts/failure.tsx';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import { useRule, useSite } from '../server/queries.ts';
import { useCatalogue } from '../server/use-catalogue.ts';
import { evidenceWords } from '../strings/evidence.ts';
import { t } from '../strings/index.ts';
import { BacktestPanel } from './backtest-panel.tsx';
import classes from './evidence.module.css';
import { ShadowPanel } from './shadow-panel.tsx';
import { TestsPanel } from './tests-panel.tsx';

const words = evidenceWords;

export function EvidencePage() {
  const { ruleId } = useParams({ from: '/rules/$ruleId/evidence' });
  const { part = 'tests', run = null } = useSearch({ from: '/rules/$ruleId/evidence' });
  const rule = useRule(Number(ruleId));
  const site = useSite();
  const catalogue = useCatalogue();
  if (rule.data === undefined || catalogue === null) {
    const failed = [rule, site].find(({ isError }) => isError);
    return (
      <div className={page['page']}>
        {failed === undefined ? (
          <Skeleton height={200} radius="md" aria-label={t.common.loading} />
        ) : (
          <Failure error={failed.error} onRetry={() => void failed.refetch()} />
        )}
      </div>
    );
  }
  const Panel = panelOf[part];
  return (
    <div className={page['page']}>
      <PageHeading>{words.title(rule.data.name)}</PageHeading>
      <p className={page['lead']}>
        {words.lead}{' '}
        <Link to="/rules/$ruleId" params={{ ruleId }}>
          {words.back}
        </Link>
      </p>
      <nav className={classes['parts']} aria-label={words.title(rule.data.name)}>
        {evidenceParts.map((name) => (
          <Link
            key={name}
            to="/rules/$ruleId/evidence"
            params={{ ruleId }}
            search={{ part: name }}
            aria-current={name === part ? 'page' : undefined}
          >
            {words.parts[name]}
          </Link>
        ))}
      </nav>
      <Panel key={rule.data.id} rule={rule.data} catalogue={catalogue} run={run} />
    </div>
  );
}

const panelOf = { tests: TestsPanel, backtest: BacktestPanel, shadow: ShadowPanel } as const satisfies Record<
  EvidencePart,
  unknown
>;
