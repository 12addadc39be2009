/**
 * A file of rules (`svc.rules.v1`, [rules §9]) becomes rules: shown first, then each is created and given its content, by the same two
 * calls that drawing one makes. They arrive disabled. A rule whose content is refused is not left behind.
 */
import { Button, FileButton, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { automation } from '../../../src/api/automation.ts';
import { ApiError } from '../../../src/api/client.ts';
import { after } from '../clock.ts';
import { announce } from '../parts/announce.tsx';
import { Failure, failureText } from '../parts/failure.tsx';
import { call } from '../server/calls.ts';
import { queryClient, useRules } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { ruleListWords } from '../strings/rule-list.ts';
import { type FileRule, readRuleFile } from './rule-file.ts';

const words = ruleListWords.importDialog;
/** Number of names listed before the import; the number of others is shown. */
const namesMax = 20;
const tooManyRequests = 429;
const waitMs = 1000;

interface Refused {
  readonly name: string;
  readonly failure: string;
}

export function ImportRules() {
  const [file, setFile] = useState<File | null>(null);
  const reset = useRef<() => void>(null);
  const close = (): void => {
    setFile(null);
    // The same file may be chosen again.
    reset.current?.();
  };
  return (
    <>
      <FileButton accept="application/json,.json" resetRef={reset} onChange={setFile}>
        {(props) => (
          <Button variant="default" {...props}>
            {ruleListWords.import}
          </Button>
        )}
      </FileButton>
      {file !== null && <ImportDialog file={file} onClose={close} />}
    </>
  );
}

function ImportDialog({ file, onClose }: { file: File; onClose: () => void }) {
  const read = useQuery({
    queryKey: ['rule-file', file.name, file.lastModified, file.size],
    queryFn: async () => readRuleFile(await file.text()),
    gcTime: 0,
    retry: false,
  });
  const [tried, setTried] = useState(0);
  const stopped = useRef(false);
  const work = useMutation({
    mutationFn: (rules: readonly FileRule[]) => importAll(rules, { stopped: () => stopped.current, tried: setTried }),
    onSuccess: ({ imported, refused }) => {
      void queryClient.invalidateQueries({ queryKey: ['rules'] });
      if (imported > 0) announce(words.done(imported));
      if (refused.length === 0 && !stopped.current) onClose();
    },
  });
  const leave = (): void => {
    stopped.current = true;
    onClose();
  };
  const rules = read.data ?? [];
  return (
    <Modal opened onClose={leave} title={words.title} closeButtonProps={{ 'aria-label': t.common.close }}>
      <Stack>
        {read.isError && <Failure error={read.error} />}
        {work.data !== undefined && <Results refused={work.data.refused} />}
        {work.isIdle && read.data !== undefined && <Contents rules={rules} />}
        {work.isPending && (
          <Text size="sm" role="status">
            {words.progress(tried, rules.length)}
          </Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={leave}>
            {work.isPending ? words.stop : work.data === undefined ? t.common.cancel : t.common.close}
          </Button>
          {rules.length > 0 && work.data === undefined && (
            <Button data-autofocus loading={work.isPending} onClick={() => work.mutate(rules)}>
              {words.submit(rules.length)}
            </Button>
          )}
        </Group>
      </Stack>
    </Modal>
  );
}

function Contents({ rules }: { rules: readonly FileRule[] }) {
  const existing = new Set(useRules().data?.map(({ name }) => name));
  return (
    <>
      <Text size="sm">{words.lead(rules.length)}</Text>
      <List size="sm">
        {rules.slice(0, namesMax).map(({ name }, index) => (
          <List.Item key={`${index} ${name}`} style={{ overflowWrap: 'anywhere' }}>
            {existing.has(name) ? words.sameName(name) : name}
          </List.Item>
        ))}
      </List>
      {rules.length > namesMax && <Text size="sm">{words.more(rules.length - namesMax)}</Text>}
      <Text size="sm" c="dimmed">
        {t.rules.dialog.audited}
      </Text>
    </>
  );
}

function Results({ refused }: { refused: readonly Refused[] }) {
  return (
    <>
      <Text size="sm">{words.refused(refused.length)}</Text>
      <List size="sm">
        {refused.map(({ name, failure }, index) => (
          <List.Item key={`${index} ${name}`} style={{ overflowWrap: 'anywhere' }}>
            <strong>{name}</strong>: {failure}
          </List.Item>
        ))}
      </List>
    </>
  );
}

interface Course {
  readonly stopped: () => boolean;
  readonly tried: (count: number) => void;
}

/** A rule that is refused does not stop the others. */
async function importAll(rules: readonly FileRule[], { stopped, tried }: Course) {
  const refused: Refused[] = [];
  let imported = 0;
  for (const [index, rule] of rules.entries()) {
    if (stopped()) break;
    const failure = await importOne(rule, stopped);
    if (failure === null) imported++;
    else refused.push({ name: rule.name, failure });
    tried(index + 1);
  }
  return { imported, refused };
}

/** Once a rule is created it gets its content or is removed, also when the person has stopped the import. */
async function importOne({ name, description, ...content }: FileRule, stopped: () => boolean): Promise<string | null> {
  const begun = (): boolean => false;
  try {
    const body = { name, ...(description === null || description === '' ? {} : { description }) };
    const made = await patiently(() => call(automation.create, { body, confirmed: true }), stopped);
    const params = { id: String(made.data.data.id) };
    try {
      await patiently(() => call(automation.update, { params, body: content, confirmed: true }), begun);
      return null;
    } catch (error) {
      const removed = await patiently(() => call(automation.remove, { params, confirmed: true }), begun).catch(
        () => null,
      );
      return removed === null ? `${failureText(error)} ${words.left}` : failureText(error);
    }
  } catch (error) {
    return failureText(error);
  }
}

/** A long file needs more changes than the service accepts per minute: waits, and continues. */
async function patiently<T>(work: () => Promise<T>, stopped: () => boolean): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === tooManyRequests) || stopped()) throw error;
      await new Promise<void>((resolve) => void after(error.retryAfterMs ?? waitMs, resolve));
    }
  }
}
