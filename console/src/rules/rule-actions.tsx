/** Actions on a rule other than editing it, each with a dialog. */
import { Menu } from '@mantine/core';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { later } from '../parts/later.tsx';
import { t } from '../strings/index.ts';
import type { AskedAction, RuleAction } from './rule-dialog.tsx';

// Loaded on demand: a page that only shows rules does not need it.
const RuleDialog = later(async () => (await import('./rule-dialog.tsx')).RuleDialog);

type Ask = (action: RuleAction, rule: AskedAction['rule'], after?: () => void) => void;

const context = createContext<Ask>(() => undefined);

/** Opens the dialog of an action. */
export function useRuleActions(): Ask {
  return useContext(context);
}

export function RuleActions({ children }: { children: ReactNode }) {
  const [asked, setAsked] = useState<AskedAction | null>(null);
  return (
    <context.Provider value={(action, rule, after) => setAsked({ action, rule, after })}>
      {children}
      {asked !== null && (
        <RuleDialog key={`${asked.action} ${asked.rule.id}`} asked={asked} onClose={() => setAsked(null)} />
      )}
    </context.Provider>
  );
}

/** The step between disabled and live, as a menu entry; none for a live rule. */
export function ShadowItem({
  rule,
}: {
  rule: AskedAction['rule'] & { readonly enabled: boolean; readonly mode: string };
}) {
  const ask = useRuleActions();
  if (rule.enabled && rule.mode === 'live') return null;
  const action = rule.enabled ? 'promote' : 'shadow';
  return <Menu.Item onClick={() => ask(action, rule)}>{t.rules[action]}</Menu.Item>;
}
