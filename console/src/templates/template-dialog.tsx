/** A new rule from a template: which one, its points by kind and unit, its numbers within their ranges. */
import { Button, Group, Modal, Select, SimpleGrid, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { PointPicker } from '../editor/point-picker.tsx';
import { type ConsoleCatalogue, type ConsolePoint, choosingAmong } from '../editor/site-catalogue.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { NumberField } from '../parts/number-field.tsx';
import { isWithin, type NumberRange } from '../parts/number-text.ts';
import { useCatalogue } from '../server/use-catalogue.ts';
import { t } from '../strings/index.ts';
import { templateWords } from '../strings/templates.ts';
import { type TemplateView, useInstantiate, useTemplates } from './template-queries.ts';

const words = templateWords;
const nameLengthMax = 128;

interface DialogParts {
  /** The rule that is used as a template; null offers all that are listed. */
  readonly ruleId: number | null;
  readonly onClose: () => void;
}

export function TemplateDialog({ ruleId, onClose }: DialogParts) {
  const templates = useTemplates(ruleId);
  const catalogue = useCatalogue();
  const [chosen, setChosen] = useState<string | null>(null);
  const list = templates.data ?? [];
  const template = list.find((each) => each.template === chosen) ?? (ruleId === null ? undefined : list[0]);
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={words.createTitle}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Stack data-testid="template-dialog">
        <Text size="sm">{words.createLead}</Text>
        {templates.isError && <Failure error={templates.error} onRetry={() => void templates.refetch()} />}
        {(templates.isPending || catalogue === null) && <Skeleton height={120} aria-label={t.common.loading} />}
        {ruleId === null && templates.data !== undefined && (
          <Select
            label={words.template}
            data={grouped(list)}
            value={chosen}
            searchable
            allowDeselect={false}
            onChange={setChosen}
          />
        )}
        {template !== undefined && catalogue !== null && (
          <TemplateForm key={template.template} template={template} catalogue={catalogue} onClose={onClose} />
        )}
      </Stack>
    </Modal>
  );
}

/** Those of the site first. */
function grouped(list: readonly TemplateView[]) {
  const items = (ofSite: boolean) =>
    list
      .filter(({ template }) => template.startsWith('rule:') === ofSite)
      .map(({ template, title }) => ({ value: template, label: title }));
  const groups = [
    { group: words.ofSite, items: items(true) },
    { group: words.included, items: items(false) },
  ];
  return groups.filter((group) => group.items.length > 0);
}

interface FormParts {
  readonly template: TemplateView;
  readonly catalogue: ConsoleCatalogue;
  readonly onClose: () => void;
}

function TemplateForm({ template, catalogue, onClose }: FormParts) {
  const navigate = useNavigate();
  const [name, setName] = useState(template.title);
  const [points, setPoints] = useState<Readonly<Record<string, ConsolePoint>>>({});
  const [numbers, setNumbers] = useState<Readonly<Record<string, number | null>>>(() =>
    Object.fromEntries(template.numbers.map(({ name: key, default: usual }) => [key, usual])),
  );
  const create = useInstantiate((made) => {
    announce(words.created(made.name), made.warnings);
    onClose();
    void navigate({ to: '/rules/$ruleId', params: { ruleId: String(made.id) } });
  });
  const isWhole =
    name.trim() !== '' &&
    template.points.every((parameter) => points[parameter.name] !== undefined) &&
    template.numbers.every((parameter) => isTaken(numbers[parameter.name], parameter));
  const submit = (): void =>
    create.mutate({
      template: template.template,
      name: name.trim(),
      points: Object.fromEntries(
        Object.entries(points).map(([key, { instance, point_type, point }]) => [key, { instance, point_type, point }]),
      ),
      numbers: Object.fromEntries(
        Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== null),
      ),
    });
  return (
    <>
      <Text size="sm" c="dimmed">
        {template.about}
      </Text>
      <TextInput
        label={words.name}
        maxLength={nameLengthMax}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        {template.points.map((parameter) => (
          <PointPicker
            key={parameter.name}
            label={labelled(parameter)}
            catalogue={fitting(catalogue, parameter)}
            use={parameter.point_type === 'action' ? 'write' : 'read'}
            value={points[parameter.name] ?? null}
            error={undefined}
            path={parameter.name}
            readOnly={false}
            onChange={(point) => setPoints({ ...points, [parameter.name]: point })}
          />
        ))}
        {template.numbers.map((parameter) => (
          <NumberField
            key={parameter.name}
            label={`${labelled(parameter)}${parameter.unit === null ? '' : ` (${parameter.unit})`}`}
            value={numbers[parameter.name] ?? null}
            {...rangeOf(parameter)}
            withAsterisk
            onChange={(value) => setNumbers({ ...numbers, [parameter.name]: value })}
          />
        ))}
      </SimpleGrid>
      {create.isError && <Failure error={create.error} />}
      <Group justify="flex-end">
        {!isWhole && (
          <Text size="sm" c="dimmed">
            {words.incomplete}
          </Text>
        )}
        <Button variant="default" onClick={onClose}>
          {t.common.cancel}
        </Button>
        <Button disabled={!isWhole} loading={create.isPending} onClick={submit}>
          {words.create}
        </Button>
      </Group>
    </>
  );
}

type NumberParameter = TemplateView['numbers'][number];

function rangeOf({ min, max }: NumberParameter): NumberRange {
  return { ...(min === null ? {} : { min }), ...(max === null ? {} : { max }) };
}

function isTaken(value: number | null | undefined, parameter: NumberParameter): boolean {
  return typeof value === 'number' && isWithin(value, rangeOf(parameter));
}

function labelled({ name, about }: Pick<TemplateView['points'][number], 'name' | 'about'>): string {
  return about === '' || about === name ? name : `${name}: ${about}`;
}

/** Only points that the parameter takes. */
function fitting(
  catalogue: ConsoleCatalogue,
  { point_type: kind, unit }: TemplateView['points'][number],
): ConsoleCatalogue {
  return choosingAmong(catalogue, (point) => point.point_type === kind && (unit === null || point.unit === unit));
}
