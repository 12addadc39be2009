/**
 * The dialog of an action on a rule: it explains the effect in plain words. Its confirmation is the confirmation that the service
 * requires, in the header and in the body.
 */
import { Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { automation } from '../../../src/api/automation.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { Notice } from '../parts/tag.tsx';
import { call } from '../server/calls.ts';
import { queryClient, refreshRule, ruleQuery, useSite } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { outcomeOf } from './rule-words.ts';
import { writtenPoints } from './written-points.ts';

export type RuleAction = 'enable' | 'shadow' | 'promote' | 'disable' | 'run' | 'delete';

export interface AskedAction {
  readonly action: RuleAction;
  readonly rule: { readonly id: number; readonly name: string };
  readonly after: (() => void) | undefined;
}

const words = t.rules.dialog;
const titles = {
  enable: words.enableTitle,
  shadow: words.shadowTitle,
  promote: words.promoteTitle,
  disable: words.disableTitle,
  run: words.runTitle,
  delete: words.deleteTitle,
};
const bodies = {
  enable: words.enableBody,
  shadow: words.shadowBody,
  promote: words.promoteBody,
  disable: words.disableBody,
  run: words.runBody,
  delete: words.deleteBody,
};
const buttons = {
  enable: words.confirmEnable,
  shadow: words.confirmShadow,
  promote: words.confirmPromote,
  disable: words.confirmDisable,
  run: words.confirmRun,
  delete: words.confirmDelete,
};

type Announced = Parameters<typeof announce>;

/** Performs the action; returns the message of success, and what the service warned of. */
async function perform({ action, rule }: AskedAction): Promise<Announced> {
  const input = { params: { id: String(rule.id) }, confirmed: true };
  const said = (text: string, audit: string | null, warnings?: Announced[1]): Announced => [
    audit === 'incomplete' ? `${text} ${t.rules.done.auditIncomplete}` : text,
    warnings,
  ];
  switch (action) {
    case 'enable': {
      const { data, audit } = await call(automation.enable, input);
      return said(t.rules.done.enabled(rule.name), audit, data.data.warnings);
    }
    case 'shadow': {
      const { data, audit } = await call(automation.enable, { ...input, body: { mode: 'shadow' } });
      return said(t.rules.done.shadow(rule.name), audit, data.data.warnings);
    }
    case 'promote': {
      const { data, audit } = await call(automation.promote, input);
      return said(t.rules.done.promoted(rule.name), audit, data.data.warnings);
    }
    case 'disable':
      return said(t.rules.done.disabled(rule.name), (await call(automation.disable, input)).audit);
    case 'delete':
      return said(t.rules.done.deleted(rule.name), (await call(automation.remove, input)).audit);
    case 'run': {
      const { data, audit } = await call(automation.execute, input);
      const { outcome, actions_attempted, actions_succeeded, execution } = data.data;
      if (execution.shadow === true) return said(t.rules.done.ranShadow(outcomeOf(outcome).text), audit);
      return said(t.rules.done.ran(outcomeOf(outcome).text, actions_succeeded, actions_attempted), audit);
    }
  }
}

export function RuleDialog({ asked, onClose }: { asked: AskedAction; onClose: () => void }) {
  const { action, rule } = asked;
  const mutation = useMutation({
    mutationFn: () => perform(asked),
    onSuccess: (done) => {
      announce(...done);
      onClose();
      asked.after?.();
      if (action === 'delete') queryClient.removeQueries({ queryKey: ['rule', rule.id] });
      void refreshRule(rule.id);
    },
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={titles[action](rule.name)}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Stack gap="md">
        <Text size="sm">{bodies[action]}</Text>
        {(action === 'enable' || action === 'promote' || action === 'run') && (
          <MayWrite ruleId={rule.id} action={action} />
        )}
        {action === 'run' && (
          <Text size="sm" c="dimmed">
            {words.runTryHint}
          </Text>
        )}
        <Text size="sm" c="dimmed">
          {words.audited}
        </Text>
        {mutation.isError && <Failure error={mutation.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button
            data-autofocus
            color={action === 'delete' ? 'red.8' : 'petrol'}
            loading={mutation.isPending}
            onClick={() => mutation.mutate()}
          >
            {buttons[action]}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The points that the stored flow may write, by name. */
function MayWrite({ ruleId, action }: { ruleId: number; action: RuleAction }) {
  const rule = useQuery(ruleQuery(ruleId));
  const site = useSite();
  if (rule.data === undefined || site.data === undefined) return null;
  const points = writtenPoints(rule.data.nodes_json, site.data);
  if (points === null) return action === 'enable' ? <Notice tone="warn">{words.enableStub}</Notice> : null;
  if (points.length === 0) return <Text size="sm">{words.writesNothing}</Text>;
  return (
    <div>
      <Text size="sm">{words.writes}</Text>
      <List size="sm" withPadding>
        {points.map((point) => (
          <List.Item key={point}>{point}</List.Item>
        ))}
      </List>
    </div>
  );
}
