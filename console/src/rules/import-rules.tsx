/**
 * A file of rules (`svc.rules.v1`, [rules §9]) becomes rules: each is created and then given its content, by the same
 * two calls that drawing one makes. They arrive disabled.
 */
import { Button, FileButton, List, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { automation } from '../../../src/api/automation.ts';
import { announce } from '../parts/announce.tsx';
import { Failure, failureText } from '../parts/failure.tsx';
import { call } from '../server/calls.ts';
import { queryClient } from '../server/queries.ts';
import { t } from '../strings/index.ts';
import { ruleListWords } from '../strings/rule-list.ts';
import { type FileRule, readRuleFile } from './rule-file.ts';

const words = ruleListWords.importDialog;

interface Imported {
  readonly name: string;
  readonly failure: string | null;
}

/** A failed rule does not stop the others; the result of each is shown. */
async function importAll(file: File): Promise<Imported[]> {
  const rules = readRuleFile(await file.text());
  const results: Imported[] = [];
  for (const rule of rules) results.push({ name: rule.name, failure: await importOne(rule) });
  return results;
}

async function importOne(rule: FileRule): Promise<string | null> {
  const { name, description, ...content } = rule;
  try {
    const about = description === null || description === '' ? {} : { description };
    const made = await call(automation.create, { body: { name, ...about }, confirmed: true });
    const params = { id: String(made.data.data.id) };
    await call(automation.update, { params, body: content, confirmed: true });
    return null;
  } catch (error) {
    return failureText(error);
  }
}

export function ImportRules() {
  const [results, setResults] = useState<readonly Imported[] | null>(null);
  const work = useMutation({
    mutationFn: importAll,
    onSuccess: (imported) => {
      void queryClient.invalidateQueries({ queryKey: ['rules'] });
      if (imported.every(({ failure }) => failure === null)) announce(words.done(imported.length));
      else setResults(imported);
    },
  });
  const close = (): void => {
    setResults(null);
    work.reset();
  };
  return (
    <>
      <FileButton accept="application/json,.json" onChange={(file) => file !== null && work.mutate(file)}>
        {(props) => (
          <Button variant="default" loading={work.isPending} {...props}>
            {ruleListWords.import}
          </Button>
        )}
      </FileButton>
      <Modal
        opened={results !== null || work.isError}
        onClose={close}
        title={words.title}
        closeButtonProps={{ 'aria-label': t.common.close }}
      >
        <Stack>
          {work.isError && <Failure error={work.error} />}
          <List size="sm">
            {results?.map(({ name, failure }, index) => (
              <List.Item key={`${index} ${name}`}>
                <Text span fw={600}>
                  {name}
                </Text>
                : {failure ?? words.imported}
              </List.Item>
            ))}
          </List>
        </Stack>
      </Modal>
    </>
  );
}
