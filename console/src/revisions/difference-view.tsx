/** What a change of a rule means: to settings, nodes, wires and actuators, and in words. */
import { Text, Title } from '@mantine/core';
import { Changes } from '../editor/changes.tsx';
import type { Change } from '../editor/difference.ts';
import { type ConsoleCatalogue, pointLabel } from '../editor/site-catalogue.ts';
import { revisionWords } from '../strings/revisions.ts';
import type { DifferenceView } from './revision-queries.ts';

const words = revisionWords;

export function Difference({
  difference,
  catalogue,
}: {
  difference: DifferenceView;
  catalogue: ConsoleCatalogue | null;
}) {
  const { classes, actuators, sentence } = difference;
  const changes = changesOf(difference);
  if (classes.length === 0) return <Text size="sm">{words.nothing}</Text>;
  return (
    <>
      {changes.length > 0 && <Changes changes={changes} sides={words} />}
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
          <Changes changes={[{ what: '', before: sentence.before, after: sentence.after }]} sides={words} />
        </section>
      )}
    </>
  );
}

function labelOf(instance: number, point: number, catalogue: ConsoleCatalogue | null): string {
  const known = catalogue?.point({ instance, point_type: 'action', point });
  return known === undefined ? `${instance}:A:${point}` : pointLabel(known);
}

function changesOf({ settings, nodes, wires }: DifferenceView): Change[] {
  const fields: Readonly<Record<string, string>> = words.fields;
  const alone = (what: string): Change => ({ what, before: null, after: null });
  return [
    ...settings.map(({ field, before, after }) => ({
      what: fields[field] ?? field,
      before: shown(before),
      after: shown(after),
    })),
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

function named({ id, label }: { readonly id: string; readonly label: string | null }): string {
  return label === null ? id : `“${label}”`;
}

/** `data` and `config` are the format's, not the reader's. */
function shortPath(path: string): string {
  const parts = path.slice(1).split('/');
  return parts.filter((part) => part !== 'data' && part !== 'config').join(' · ');
}

function shown(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
