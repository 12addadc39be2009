/** Name and state of the rule, and actions on the rule as a whole. */
import { ActionIcon, Button, Menu, Text, Tooltip } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useHistory } from '../history/history-queries.ts';
import { errorWords } from '../live/run-view.ts';
import { useLastRun } from '../live/stream.ts';
import { Moment } from '../parts/moment.tsx';
import { usePageName } from '../parts/page-heading.tsx';
import { Tag } from '../parts/tag.tsx';
import { ShadowItem, useRuleActions } from '../rules/rule-actions.tsx';
import { outcomeOf, stateOf } from '../rules/rule-words.ts';
import { type StoredRule, useRuleStatus } from '../server/queries.ts';
import { BackIcon, MoreIcon, RedoIcon, UndoIcon } from '../shell/icons.tsx';
import { useOfferedCommands } from '../shell/page-commands.ts';
import { t } from '../strings/index.ts';
import { TemplateDialogs, TemplateItems } from '../templates/template-items.tsx';
import { useDraft, useDraftStore } from './draft-store.ts';
import classes from './editor.module.css';
import { useEditor } from './editor-context.ts';
import type { Problem } from './problems.ts';
import { WhyNotChip } from './why-not-chip.tsx';

const words = t.editor;

interface HeaderParts {
  readonly rule: StoredRule;
  readonly problems: readonly Problem[];
  readonly onSave: () => void;
}

/** The command palette's entries while a rule is open. */
function useRuleCommands({ rule, problems, onSave }: HeaderParts) {
  const { isDirty } = useDraft();
  const { readOnly } = useEditor();
  const ask = useRuleActions();
  const hasErrors = problems.some(({ severity }) => severity === 'error');
  const toggle = rule.enabled ? 'disable' : 'enable';
  const canSave = isDirty && !hasErrors;
  const commands = useMemo(
    () =>
      readOnly
        ? []
        : [
            ...(canSave ? [{ id: 'save', label: words.save, group: t.palette.here, run: onSave }] : []),
            { id: 'toggle', label: t.rules[toggle], group: t.palette.here, run: () => ask(toggle, rule) },
            { id: 'run', label: t.rules.run, group: t.palette.here, run: () => ask('run', rule) },
          ],
    // The dialogs open with the values of this render.
    [readOnly, canSave, toggle, rule, ask, onSave],
  );
  useOfferedCommands(commands);
  return { canSave, toggle, ask } as const;
}

export function EditorHeader(parts: HeaderParts) {
  const { rule } = parts;
  const { history } = useDraft();
  const { readOnly } = useEditor();
  const offered = useRuleCommands(parts);
  usePageName(history.present.name);
  return (
    <div className={classes['top']}>
      <div className={classes['heading']}>
        <Link to="/rules" className={classes['back'] ?? ''} aria-label={words.back}>
          <BackIcon />
        </Link>
        <h1 className={classes['name']} title={history.present.name}>
          {history.present.name}
        </h1>
        <StateSign rule={rule} />
      </div>
      {!readOnly && (
        <TemplateDialogs rule={rule}>
          <HeaderTools {...parts} {...offered} />
        </TemplateDialogs>
      )}
    </div>
  );
}

function HeaderTools({ rule, onSave, canSave, toggle, ask }: HeaderParts & ReturnType<typeof useRuleCommands>) {
  const store = useDraftStore();
  const { history, isDirty } = useDraft();
  const navigate = useNavigate();
  return (
    <div className={classes['tools']}>
      <Text
        size="sm"
        c="dimmed"
        className={classes['dirty'] ?? ''}
        title={words.unsavedHint}
        data-dirty={isDirty}
        data-testid="dirty"
      >
        {isDirty ? words.unsaved : words.noChanges}
      </Text>
      <Tool label={words.undo} disabled={history.past.length === 0} onClick={store.undo}>
        <UndoIcon />
      </Tool>
      <Tool label={words.redo} disabled={history.future.length === 0} onClick={store.redo}>
        <RedoIcon />
      </Tool>
      <Button variant="default" size="sm" onClick={() => ask(toggle, rule)}>
        {t.rules[toggle]}
      </Button>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={36} aria-label={t.rules.more(rule.name)}>
            <MoreIcon size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => ask('run', rule)}>{t.rules.run}</Menu.Item>
          <ShadowItem rule={rule} />
          <Menu.Item
            onClick={() => void navigate({ to: '/rules/$ruleId/revisions', params: { ruleId: String(rule.id) } })}
          >
            {words.revisions}
          </Menu.Item>
          <Menu.Item
            onClick={() => void navigate({ to: '/rules/$ruleId/evidence', params: { ruleId: String(rule.id) } })}
          >
            {words.evidence}
          </Menu.Item>
          <TemplateItems rule={rule} />
          <Menu.Item c="var(--sp-bad)" onClick={() => ask('delete', rule, () => void navigate({ to: '/rules' }))}>
            {t.rules.delete}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Button size="sm" disabled={!canSave} onClick={onSave}>
        {words.save}
      </Button>
    </div>
  );
}

function Tool({
  label,
  disabled,
  onClick,
  children,
}: {
  label: string;
  disabled: boolean;
  onClick: () => void;
  children: React.ReactNode;
}) {
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size={36} aria-label={label} disabled={disabled} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}

/** The state of the rule and its last outcome. */
function StateSign({ rule }: { rule: StoredRule }) {
  const status = useRuleStatus(rule.id).data;
  const pushed = useLastRun(rule.id);
  const newest = useHistory(rule.id).data?.pages[0]?.list[0];
  if (status === undefined) return null;
  const state = stateOf(status);
  const last = pushed ?? status.last_run;
  const outcome = last === null ? null : outcomeOf(last.outcome);
  const record = pushed ?? newest;
  const trouble = record?.execution_id === last?.execution_id && record !== undefined ? errorWords(record) : '';
  const isTrouble = rule.enabled && (last?.outcome === 'failed' || last?.outcome === 'skipped');
  return (
    <>
      {/* A rule that waits after a failed run is not well. */}
      <WhyNotChip
        status={status}
        text={state.text}
        tone={isTrouble && state.tone === 'good' ? 'calm' : state.tone}
        record={record}
      />
      {last !== null && outcome !== null && isTrouble && (
        <span className={classes['trouble']} data-testid="last-trouble">
          <Tag tone={outcome.tone} title={trouble} long>
            <span>
              {outcome.text} <Moment at={last.started_at} />
              {trouble !== '' && `: ${trouble}`}
            </span>
          </Tag>
        </span>
      )}
      {last !== null && outcome !== null && !isTrouble && (
        <Text size="sm" c="dimmed" visibleFrom="sm" truncate className={classes['outcome'] ?? ''}>
          {outcome.text} <Moment at={last.started_at} />
        </Text>
      )}
    </>
  );
}
