/** The command palette (Ctrl/Cmd-K): every page, every point, every rule and what can be done with it, found by typing. */

import { Modal, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useMemo, useState } from 'react';
import { mainPages } from '../addresses.ts';
import { useRuleActions } from '../rules/rule-actions.tsx';
import { useRules, useSite } from '../server/queries.ts';
import { useSession } from '../session/session.ts';
import { mayManage, mayOpen } from '../session/token.ts';
import { t } from '../strings/index.ts';
import { type PageCommand, usePageCommands } from './page-commands.ts';
import classes from './palette.module.css';

const words = t.palette;
const shownMax = 60;

interface PaletteParts {
  /** Called when its field has the focus; returns the keys that were pressed before. */
  readonly onThere: () => readonly string[];
  readonly onClose: () => void;
}

export function PaletteDialog({ onThere, onClose }: PaletteParts) {
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      size="lg"
      padding={0}
      yOffset="12vh"
      aria-label={words.title}
    >
      <PaletteBody onThere={onThere} onClose={onClose} />
    </Modal>
  );
}

function PaletteBody({ onThere, onClose }: PaletteParts) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const listId = useId();
  const commands = useCommands();
  const matches = useMemo(() => matching(commands, text), [commands, text]);
  const found = matches.slice(0, shownMax);
  const current = Math.min(at, found.length - 1);
  const choose = (command: PageCommand | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  useLayoutEffect(() => {
    const keys = onThere();
    const typed = keys.filter((key) => key !== 'Enter').join('');
    setText(typed);
    if (keys.at(-1) === 'Enter') choose(matching(commands, typed)[0]);
  }, []);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(current + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(current - 1, 0));
    else if (event.key === 'Enter') choose(found[current]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(`${listId}-${current}`)?.scrollIntoView({ block: 'nearest' });
  }, [current, listId]);
  return (
    <div>
      <TextInput
        data-autofocus
        // At once, so that what is typed right after Ctrl-K arrives here.
        autoFocus
        variant="unstyled"
        className={classes['input'] ?? ''}
        aria-label={words.title}
        placeholder={words.placeholder}
        value={text}
        role="combobox"
        aria-expanded
        aria-controls={listId}
        aria-activedescendant={found.length === 0 ? undefined : `${listId}-${current}`}
        onKeyDown={onKeyDown}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
      />
      <div id={listId} role="listbox" aria-label={words.title} className={classes['list']} tabIndex={-1}>
        {found.map((command, index) => (
          <div
            key={command.id}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === current}
            className={classes['option']}
            onMouseMove={() => setAt(index)}
            onClick={() => choose(command)}
          >
            <span>{command.label}</span>
            <span className={classes['group']}>{command.group}</span>
          </div>
        ))}
        {matches.length > shownMax && (
          <div className={classes['none']}>{t.common.moreOptions(matches.length - shownMax)}</div>
        )}
        {found.length === 0 && <div className={classes['none']}>{words.none(text)}</div>}
      </div>
    </div>
  );
}

/** Commands that have every typed word somewhere in them; those that begin with the text come first. */
function matching(commands: readonly PageCommand[], text: string): PageCommand[] {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = commands.filter(({ label, group }) => {
    const whole = `${label} ${group}`.toLowerCase();
    return wanted.every((word) => whole.includes(word));
  });
  const first = (command: PageCommand): number => (command.label.toLowerCase().startsWith(text.toLowerCase()) ? 0 : 1);
  return text === '' ? hits : hits.toSorted((a, b) => first(a) - first(b));
}

function useCommands(): PageCommand[] {
  const navigate = useNavigate();
  const rules = useRules();
  const site = useSite();
  const ask = useRuleActions();
  const session = useSession();
  const pageCommands = usePageCommands();
  const role = session.status === 'out' ? null : session.facts.role;
  const pages: PageCommand[] = mainPages
    .filter(([id]) => mayOpen(id, role))
    .map(([id, to]) => ({ id, label: t.common.pages[id], group: words.page, run: () => void navigate({ to }) }));
  const manage = mayManage(role);
  if (manage)
    pages.push({
      id: 'create',
      label: t.rules.create,
      group: words.action,
      run: () => void navigate({ to: '/rules', search: { create: true } }),
    });
  const byRule = (rules.data ?? []).flatMap((rule): PageCommand[] => {
    const open: PageCommand = {
      id: `open-${rule.id}`,
      label: rule.name,
      group: words.rule,
      run: () => void navigate({ to: '/rules/$ruleId', params: { ruleId: String(rule.id) } }),
    };
    if (!manage) return [open];
    const toggle = rule.enabled ? 'disable' : 'enable';
    return [
      open,
      {
        id: `${toggle}-${rule.id}`,
        label: words.with(t.rules[toggle], rule.name),
        group: words.action,
        run: () => ask(toggle, rule),
      },
      {
        id: `run-${rule.id}`,
        label: words.with(t.rules.run, rule.name),
        group: words.action,
        run: () => ask('run', rule),
      },
    ];
  });
  const points = (site.data?.instances ?? []).flatMap(({ id, name, points: own }) =>
    own.map((point): PageCommand => {
      const pointKey = `${id}:${point.kind}:${point.id}`;
      return {
        id: `point-${pointKey}`,
        label: `${name} ${point.name}`,
        group: words.point,
        run: () => void navigate({ to: '/points/$pointKey', params: { pointKey } }),
      };
    }),
  );
  return [...pageCommands, ...pages, ...byRule, ...points];
}
