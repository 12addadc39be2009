/** A change of a rule by meaning: settings, nodes, wires, actuators, and the sentence. */
import { Text, Title } from '@mantine/core';
import { type TestChanges, testChanges } from '../../../src/api/test-changes.ts';
import { isFields } from '../../../src/rules/issues.ts';
import { parseTrigger } from '../../../src/rules/trigger/parse.ts';
import { type Change, Changes } from '../editor/changes.tsx';
import type { ContentDifference } from '../editor/draft-difference.ts';
import { triggerInWords } from '../editor/rule-in-words.ts';
import { type ConsoleCatalogue, pointLabel } from '../editor/site-catalogue.ts';
import { revisionWords } from '../strings/revisions.ts';

const words = revisionWords;

interface DifferenceParts {
  readonly difference: ContentDifference;
  readonly catalogue: ConsoleCatalogue | null;
  /** Names of the two sides for screen readers. */
  readonly sides?: { readonly before: string; readonly after: string };
}

export function Difference({ difference, catalogue, sides = words }: DifferenceParts) {
  const { classes, actuators, sentence } = difference;
  const changes = changesOf(difference, catalogue);
  if (classes.length === 0) return <Text size="sm">{words.nothing}</Text>;
  return (
    <>
      {changes.length > 0 && <Changes changes={changes} sides={sides} />}
      {classes.includes('layout') && <Text size="sm">{words.moved}</Text>}
      {actuators.length > 0 && (
        <section>
          <Title order={3} size="h6">
            {words.actuators}
          </Title>
          <ul data-testid="actuators">
            {actuators.map(({ instance, point, change }) => (
              <li key={`${instance}:${point}`}>{words.actuator[change](labelOf(instance, point, catalogue))}</li>
            ))}
          </ul>
        </section>
      )}
      {sentence.after !== null && sentence.before !== sentence.after && (
        <section>
          <Title order={3} size="h6">
            {words.sentence}
          </Title>
          <Changes
            label={words.sentence}
            changes={[{ what: '', before: sentence.before, after: sentence.after }]}
            sides={sides}
          />
        </section>
      )}
    </>
  );
}

function labelOf(instance: number, point: number, catalogue: ConsoleCatalogue | null): string {
  const known = catalogue?.point({ instance, point_type: 'action', point });
  return known === undefined ? `${instance}:A:${point}` : pointLabel(known);
}

function changesOf({ settings, nodes, wires }: ContentDifference, catalogue: ConsoleCatalogue | null): Change[] {
  const fields: Readonly<Record<string, string>> = words.fields;
  const alone = (what: string): Change => ({ what, before: null, after: null });
  return [
    ...settings.flatMap(({ field, before, after }): Change[] => {
      if (field === 'tests') return testWords(testChanges(before, after)).map(alone);
      const text = (value: unknown): string | null => settingText(field, value, catalogue);
      return [{ what: fields[field] ?? field, before: text(before), after: text(after) }];
    }),
    ...nodes.added.map((node) => alone(words.added(named(node)))),
    ...nodes.removed.map((node) => alone(words.removed(named(node)))),
    ...nodes.changed.flatMap((node) =>
      node.fields.map(({ path, before, after }) => ({
        what: `${named(node)} · ${shortPath(path)}`,
        before: shown(before),
        after: shown(after),
      })),
    ),
    ...wires.added.map(({ from, output, to }) => alone(words.wired(from, output, to))),
    ...wires.removed.map(({ from, output, to }) => alone(words.unwired(from, output, to))),
  ];
}

function testWords({ added, removed, changed }: TestChanges): string[] {
  const { tests } = words;
  return [...added.map(tests.added), ...removed.map(tests.removed), ...changed.map(tests.changed)];
}

/** A trigger in words; for an invalid one, the document. */
function settingText(field: string, value: unknown, catalogue: ConsoleCatalogue | null): string | null {
  if (field === 'trigger_config' && catalogue !== null && isFields(value)) {
    const trigger = parseTrigger(value, catalogue);
    if (trigger.ok && trigger.trigger !== null) return triggerInWords(trigger.trigger, catalogue);
  }
  return shown(value);
}

function named({ id, label }: { readonly id: string; readonly label: string | null }): string {
  return label === null ? id : `“${label}”`;
}

/** `data` and `config` belong to the format and are not shown. */
function shortPath(path: string): string {
  const parts = path.slice(1).split('/');
  return parts.filter((part) => part !== 'data' && part !== 'config').join(' · ');
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
