/** The list of rules: what is running, what is not, and why. */

import { ActionIcon, Button, Menu, SegmentedControl, Select, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type KeyboardEvent, useMemo, useState } from 'react';
import { tagsOf, withoutTags } from '../../../src/rules/tags.ts';
import type { PointRef } from '../../../src/site/catalogue.ts';
import { type RulesShown, ruleFilters } from '../addresses.ts';
import { pointKey, pointOfKey } from '../editor/site-catalogue.ts';
import { useLastRun, useWatch } from '../live/stream.ts';
import { Failure } from '../parts/failure.tsx';
import { later } from '../parts/later.tsx';
import { longOptions } from '../parts/long-options.ts';
import { Filler, type RowPlace, useLongRows } from '../parts/long-rows.tsx';
import { inWords, Moment, useNowMs } from '../parts/moment.tsx';
import page from '../parts/page.module.css';
import { PageHeading } from '../parts/page-heading.tsx';
import table from '../parts/table.module.css';
import { Notice, Tag } from '../parts/tag.tsx';
import { usePointRules } from '../points/point-queries.ts';
import { type ListedRule, useRuleName, useRules, useScheduler, useSite } from '../server/queries.ts';
import { useCatalogue } from '../server/use-catalogue.ts';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { MoreIcon, PlayIcon, PlusIcon, SearchIcon } from '../shell/icons.tsx';
import { t } from '../strings/index.ts';
import { ruleListWords } from '../strings/rule-list.ts';
import { CreateRule } from './create-rule.tsx';
import { ImportRules } from './import-rules.tsx';
import { ShadowItem, useRuleActions } from './rule-actions.tsx';
import { type Sort, shownRules, sorts } from './rule-order.ts';
import { needsAttention, outcomeOf, reasonsOf, stateOf } from './rule-words.ts';
import classes from './rules-page.module.css';
import { countedTags, searchWords, toggledTag } from './tags.ts';
import { distancesOf } from './why-not.ts';

const words = { ...t.rules, ...ruleListWords };
/** Until a row is measured. */
const rowPx = 65;

const TemplateDialog = later(async () => (await import('../templates/template-dialog.tsx')).TemplateDialog);

interface ListChoice {
  readonly search: string;
  /** A point that the rules read or write. */
  readonly point: PointRef | null;
  readonly filter: RulesShown;
  readonly sort: Sort;
}

/** The rules that use a point: null without one, undefined until they are known. */
function useUsers(point: PointRef | null) {
  const { data, error } = usePointRules(point);
  const users = useMemo(() => data && new Set([...data.readers, ...data.writers].map(({ rule_id: id }) => id)), [data]);
  return { users: point === null ? null : users, error };
}

export function RulesPage() {
  const rules = useRules();
  const navigate = useNavigate();
  const { create, filter = 'all' } = useSearch({ from: '/rules' });
  const [kept, setKept] = useState<Omit<ListChoice, 'filter'>>({ search: '', point: null, sort: 'priority' });
  const chosen = useMemo(() => ({ ...kept, filter }), [kept, filter]);
  const go = (isCreating: boolean): void => void navigate({ to: '/rules', search: searchOf(filter, isCreating) });
  const setChosen = (next: ListChoice): void => {
    setKept(next);
    if (next.filter !== filter) void navigate({ to: '/rules', search: searchOf(next.filter), replace: true });
  };
  const [isTemplating, setTemplating] = useState(false);
  const session = useSession();
  const manage = session.status !== 'out' && mayManage(session.facts.role);
  const all = rules.data ?? [];
  const { users, error } = useUsers(chosen.point);
  const shown = useMemo(() => (users === undefined ? [] : shownRules(all, { ...chosen, users })), [all, chosen, users]);
  return (
    <div className={page['page']}>
      <div className={classes['top']}>
        <PageHeading className={classes['title'] ?? ''}>{words.title}</PageHeading>
        <p className={classes['counts']} role="status">
          {rules.data !== undefined && <Counts rules={rules.data} shown={shown.length} />}
        </p>
        {manage && (
          <>
            <Button variant="default" onClick={() => setTemplating(true)}>
              {words.fromTemplate}
            </Button>
            <ImportRules />
            <Button leftSection={<PlusIcon size={16} />} onClick={() => go(true)}>
              {words.create}
            </Button>
          </>
        )}
      </div>
      <ListTools chosen={chosen} onChange={setChosen} />
      <TagBar rules={all} search={chosen.search} onSearch={(search) => setChosen({ ...chosen, search })} />
      {rules.isError && rules.data === undefined && (
        <Failure error={rules.error} onRetry={() => void rules.refetch()} />
      )}
      {error !== null && <Failure error={error} />}
      <SchedulerNotice />
      {(rules.isPending || (users === undefined && error === null)) && (
        <Skeleton height={260} radius="md" aria-label={t.common.loading} />
      )}
      {rules.data !== undefined && users !== undefined && (
        <RuleTable rules={shown} manage={manage} empty={all.length === 0 ? null : words.noMatch(chosen.search)} />
      )}
      {create === true && manage && <CreateRule onClose={() => go(false)} />}
      {isTemplating && <TemplateDialog ruleId={null} onClose={() => setTemplating(false)} />}
    </div>
  );
}

function searchOf(filter: RulesShown, isCreating = false) {
  return { ...(isCreating ? { create: true as const } : {}), ...(filter === 'all' ? {} : { filter }) };
}

interface TagBarParts {
  readonly rules: readonly ListedRule[];
  readonly search: string;
  readonly onSearch: (search: string) => void;
}

/** All tags, each a filter; nothing where no rule has one. */
function TagBar({ rules, search, onSearch }: TagBarParts) {
  const tags = countedTags(rules);
  if (tags.length === 0) return null;
  const wanted = searchWords(search);
  return (
    <div className={classes['tags']} role="group" aria-label={words.tags}>
      {tags.map(([tag, count]) => (
        <Button
          key={tag}
          size="compact-xs"
          radius="xl"
          variant={wanted.includes(`#${tag}`) ? 'filled' : 'default'}
          aria-pressed={wanted.includes(`#${tag}`)}
          onClick={() => onSearch(toggledTag(search, tag))}
        >
          #{tag} ({count})
        </Button>
      ))}
    </div>
  );
}

interface ToolsParts {
  readonly chosen: ListChoice;
  readonly onChange: (chosen: ListChoice) => void;
}

function ListTools({ chosen, onChange }: ToolsParts) {
  const catalogue = useCatalogue();
  return (
    <div className={classes['tools']}>
      <TextInput
        className={classes['search'] ?? ''}
        aria-label={words.search}
        placeholder={words.searchHint}
        leftSection={<SearchIcon size={16} />}
        value={chosen.search}
        onChange={(event) => onChange({ ...chosen, search: event.currentTarget.value })}
      />
      <Select
        aria-label={words.usesPoint}
        placeholder={words.usesPoint}
        data={catalogue?.choices.read ?? []}
        filter={longOptions}
        value={chosen.point === null ? null : pointKey(chosen.point)}
        onChange={(key) => onChange({ ...chosen, point: key === null ? null : pointOfKey(key) })}
        searchable
        clearable
        clearButtonProps={{ 'aria-label': words.anyPoint, 'aria-hidden': false, tabIndex: 0 }}
        nothingFoundMessage={words.noPoint}
        maxDropdownHeight={320}
        w={230}
      />
      <SegmentedControl
        aria-label={words.filterLabel}
        value={chosen.filter}
        onChange={(value) => onChange({ ...chosen, filter: ruleFilters.find((known) => known === value) ?? 'all' })}
        data={ruleFilters.map((value) => ({ value, label: words.filter[value] }))}
        size="sm"
      />
      <Select
        aria-label={words.sort.by}
        value={chosen.sort}
        allowDeselect={false}
        onChange={(value) => onChange({ ...chosen, sort: sorts.find((known) => known === value) ?? 'priority' })}
        data={sorts.map((value) => ({ value, label: words.sort[value] }))}
        w={190}
      />
    </div>
  );
}

/** Enabled rules do not run while the scheduler does not: that comes before what each of them does. */
function SchedulerNotice() {
  const scheduler = useScheduler();
  if (scheduler.data === undefined || scheduler.data.running) return null;
  return (
    <Notice tone="bad" role="alert">
      {words.schedulerStopped}
    </Notice>
  );
}

function Counts({ rules, shown }: { rules: readonly ListedRule[]; shown: number }) {
  const on = rules.filter(({ enabled }) => enabled).length;
  const trouble = rules.filter(needsAttention).length;
  return (
    <>
      <span>{words.shown(shown, rules.length)}</span>
      <span>{words.counts.enabled(on)}</span>
      {trouble > 0 && <span>{words.counts.trouble(trouble)}</span>}
    </>
  );
}

interface TableParts {
  readonly rules: readonly ListedRule[];
  readonly manage: boolean;
  /** The text of an empty list; null when there are no rules at all. */
  readonly empty: string | null;
}

function RuleTable({ rules, manage, empty }: TableParts) {
  const { body, drawn, near, before, after, moveFocus } = useLongRows({ items: rules, keyOf: ({ id }) => id, rowPx });
  useWatch(near.map(({ id }) => id));
  const ask = useRuleActions();
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.target instanceof HTMLElement)) return;
    const rule = rules[Number(event.target.closest('tr')?.dataset['index'])];
    if (event.key === 'ArrowDown') moveFocus(event.target, 1);
    else if (event.key === 'ArrowUp') moveFocus(event.target, -1);
    else if (event.key === 'e' && manage && rule !== undefined) ask(rule.enabled ? 'disable' : 'enable', rule);
    else if (event.key === 'r' && manage && rule !== undefined) ask('run', rule);
    else return;
    event.preventDefault();
  };
  if (rules.length === 0)
    return (
      <Stack align="center" p="xl" gap={6}>
        <Text fw={600}>{empty ?? words.empty}</Text>
        {empty === null && <Text c="dimmed">{words.emptyLead}</Text>}
      </Stack>
    );
  return (
    <>
      <table className={table['table']} aria-label={words.title} aria-rowcount={rules.length + 1}>
        <thead>
          <tr>
            <th scope="col">{words.columns.name}</th>
            <th scope="col">{words.columns.state}</th>
            <th scope="col">{words.columns.last}</th>
            <th scope="col">{words.columns.next}</th>
            <th scope="col">
              <span className="sp-hidden">{words.columns.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={onKeyDown}>
          <Filler px={before} />
          {drawn.map(({ item, place }) => (
            <RuleRow key={item.id} rule={item} place={place} manage={manage} />
          ))}
          <Filler px={after} />
        </tbody>
      </table>
      {manage && <p className={classes['hint']}>{words.keys}</p>}
    </>
  );
}

function RuleRow({ rule, place, manage }: { rule: ListedRule; place: RowPlace; manage: boolean }) {
  const { id, name, description, status } = rule;
  const nameOf = useRuleName();
  const state = stateOf(status);
  const nameOfPoint = usePointName();
  const missing = status?.points.filter((point) => point.current_value === null).length ?? 0;
  return (
    <tr {...place} data-rule={id} className={classes['row']}>
      <td>
        <Link to="/rules/$ruleId" params={{ ruleId: String(id) }} className={classes['name'] ?? ''} data-row>
          {name}
        </Link>
        <Description text={description} />
      </td>
      <td>
        <Tag tone={state.tone}>{state.text}</Tag>
        {state.word !== 'waiting' || missing > 0 || needsAttention(rule) ? (
          <div className={classes['why']}>{reasonsOf(status, nameOf).join(' ')}</div>
        ) : (
          status !== null &&
          status !== undefined &&
          rule.enabled && <div className={classes['why']}>{distancesOf(status, nameOfPoint).join(' ')}</div>
        )}
      </td>
      <td className={classes['narrow']}>
        <LastRun rule={rule} />
      </td>
      <td className={classes['narrow']}>
        <NextRun rule={rule} />
      </td>
      <td>{manage && <RowActions rule={rule} />}</td>
    </tr>
  );
}

function Description({ text }: { text: string | null }) {
  const [about, tags] = [withoutTags(text), tagsOf(text)];
  return (
    <>
      {about !== '' && <div className={classes['about']}>{about}</div>}
      {tags.length > 0 && <div className={classes['why']}>{tags.map((tag) => `#${tag}`).join(' ')}</div>}
    </>
  );
}

/** Names of watched points, from the site as the console knows it. */
function usePointName() {
  const { data } = useSite();
  return ({ instance, point_type: kind, point: id }: PointRef) => {
    const found = data?.instances.find((each) => each.id === instance);
    const point = found?.points.find((each) => each.id === id && each.kind === kind);
    return found === undefined || point === undefined
      ? undefined
      : { label: `${found.name} · ${point.name}`, unit: point.unit };
  };
}

function LastRun({ rule }: { rule: ListedRule }) {
  const pushed = useLastRun(rule.id);
  const polled = rule.status?.last_run ?? null;
  const last = pushed !== null && (polled === null || pushed.started_at >= polled.started_at) ? pushed : polled;
  if (last === null)
    return (
      <Text size="sm" c="dimmed">
        {words.never}
      </Text>
    );
  const outcome = outcomeOf(last.outcome);
  return (
    <>
      <Tag tone={outcome.tone} title={outcome.hint}>
        {outcome.text}
      </Tag>
      <div className={classes['why']}>
        <Moment at={last.started_at} />
      </div>
    </>
  );
}

function NextRun({ rule }: { rule: ListedRule }) {
  const now = useNowMs();
  const { status } = rule;
  if (status === null || status === undefined || !rule.enabled || !status.runnable)
    return (
      <Text size="sm" c="dimmed">
        {t.common.none}
      </Text>
    );
  const cooling = status.cooldown_until !== null && Date.parse(status.cooldown_until) > now;
  if (cooling && status.cooldown_until !== null)
    return <Text size="sm">{words.cooldownLeft(inWords(Date.parse(status.cooldown_until), now))}</Text>;
  if (status.next_due_at === null) return <Text size="sm">{words.onChange}</Text>;
  // A short interval is always due in a moment: a countdown would only flicker.
  const dueMs = Date.parse(status.next_due_at);
  const when = dueMs - now < 1500 ? t.common.ahead.now : inWords(dueMs, now);
  return <Text size="sm">{words.nextDue(when)}</Text>;
}

function RowActions({ rule }: { rule: ListedRule }) {
  const ask = useRuleActions();
  const toggle = rule.enabled ? 'disable' : 'enable';
  return (
    <div className={classes['actions']}>
      <Button size="compact-sm" variant="default" onClick={() => ask(toggle, rule)}>
        {words[toggle]}
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size="md" aria-label={words.more(rule.name)}>
            <MoreIcon size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<PlayIcon size={15} />} onClick={() => ask('run', rule)}>
            {words.run}
          </Menu.Item>
          <ShadowItem rule={rule} />
          <Menu.Item c="var(--sp-bad)" onClick={() => ask('delete', rule)}>
            {words.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}
