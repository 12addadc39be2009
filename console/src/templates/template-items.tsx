/** Entries of a rule's menu: to make others from it, and to follow the template that it was made from. */
import { Menu } from '@mantine/core';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { isFields } from '../../../src/rules/issues.ts';
import { later } from '../parts/later.tsx';
import type { StoredRule } from '../server/queries.ts';
import { t } from '../strings/index.ts';

const TemplateDialog = later(async () => (await import('./template-dialog.tsx')).TemplateDialog);
const TemplateUpdateDialog = later(async () => (await import('./template-update-dialog.tsx')).TemplateUpdateDialog);

type Open = 'use' | 'update' | null;
const context = createContext<(open: Open) => void>(() => undefined);

/** The dialogs stay when the menu closes. */
export function TemplateDialogs({ rule, children }: { rule: StoredRule; children: ReactNode }) {
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  return (
    <context.Provider value={setOpen}>
      {children}
      {open === 'use' && <TemplateDialog ruleId={rule.id} onClose={close} />}
      {open === 'update' && <TemplateUpdateDialog rule={rule} onClose={close} />}
    </context.Provider>
  );
}

export function TemplateItems({ rule }: { rule: StoredRule }) {
  const open = useContext(context);
  const isDrawn = isFields(rule.flow_json);
  const wasMade = isFields(rule.flow_json) && rule.flow_json['from_template'] !== undefined;
  return (
    <>
      {isDrawn && <Menu.Item onClick={() => open('use')}>{t.rules.useAsTemplate}</Menu.Item>}
      {wasMade && <Menu.Item onClick={() => open('update')}>{t.rules.updateFromTemplate}</Menu.Item>}
    </>
  );
}
