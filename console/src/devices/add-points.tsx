/** Points from a scan: named, previewed as lines of site.yaml, then added to the file and applied in one step. */
import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import table from '../parts/table.module.css';
import { Notice } from '../parts/tag.tsx';
import { type SiteView, useSite } from '../server/queries.ts';
import { deviceWords } from '../strings/devices.ts';
import { t } from '../strings/index.ts';
import styles from './devices.module.css';
import { type FoundPlace, type PlannedPoint, planned, pointTexts, registerTypes } from './found-places.ts';
import { type PointsBody, type PointsPreview, usePointsPreview, useSavePoints } from './site-queries.ts';

const words = deviceWords.add;
const fresh = 'new';

interface AddParts {
  readonly channel: string;
  readonly places: readonly FoundPlace[];
  readonly onBack: () => void;
  readonly onDone: () => void;
}

export function AddPoints(parts: AddParts) {
  const site = useSite();
  if (site.isError) return <Failure error={site.error} onRetry={() => void site.refetch()} />;
  if (site.data === undefined) return <Text size="sm">{t.common.loading}</Text>;
  return <PointsForm {...parts} instances={site.data.instances} />;
}

function PointsForm({ channel, places, onBack, onDone, instances }: AddParts & Pick<SiteView, 'instances'>) {
  const [instance, setInstance] = useState(fresh);
  const [name, setName] = useState(channel);
  const [plans, setPlans] = useState(() => places.map(planned));
  const known = instances.find(({ id }) => String(id) === instance);
  const isComplete =
    (known !== undefined || name.trim() !== '') &&
    plans.every((plan) => plan.name.trim() !== '' && plan.unit.trim() !== '');
  const body: PointsBody = {
    instance: known?.id ?? Math.max(0, ...instances.map(({ id }) => id)) + 1,
    ...(known === undefined ? { instance_name: name.trim() } : {}),
    points: pointTexts(channel, plans, known?.points ?? []),
  };
  const preview = usePointsPreview(body, isComplete);
  const save = useSavePoints(() => {
    announce(words.done(plans.length));
    onDone();
  });
  const shown = preview.data;
  const isReady = isComplete && shown !== undefined && shown.issues.length === 0 && !preview.isFetching;
  const change = (at: number, part: Partial<PlannedPoint>): void =>
    setPlans(plans.map((plan, index) => (index === at ? { ...plan, ...part } : plan)));
  return (
    <Stack>
      <Text size="sm">{words.lead}</Text>
      <Group align="end">
        <NativeSelect
          label={words.instance}
          value={instance}
          onChange={(event) => setInstance(event.currentTarget.value)}
          data={[
            { value: fresh, label: words.newInstance },
            ...instances.map(({ id, name: label }) => ({ value: String(id), label: `${id} ${label}` })),
          ]}
        />
        {known === undefined && (
          <TextInput
            label={words.instanceName}
            value={name}
            maxLength={128}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Group>
      <PlanTable plans={plans} onChange={change} />
      {preview.isError && <Failure error={preview.error} onRetry={() => void preview.refetch()} />}
      {shown !== undefined && <Preview {...shown} />}
      {save.isError && <Failure error={save.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onBack}>
          {words.back}
        </Button>
        <Button
          disabled={!isReady}
          loading={save.isPending}
          onClick={() => shown !== undefined && save.mutate({ ...body, revision: shown.revision })}
        >
          {words.go}
        </Button>
      </Group>
    </Stack>
  );
}

/** The errors, or the warnings and the changed lines. */
function Preview({ issues, warnings, difference: { line, removed, added } }: PointsPreview) {
  if (issues.length > 0)
    return issues.map((issue) => (
      <Notice key={issue} tone="bad" role="alert">
        {issue}
      </Notice>
    ));
  return (
    <>
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn">
          {warning}
        </Notice>
      ))}
      <pre className={styles['lines']} aria-label={words.lines(line)} role="region" tabIndex={0}>
        {[...removed.map((text) => `- ${text}`), ...added.map((text) => `+ ${text}`)].join('\n')}
      </pre>
    </>
  );
}

interface PlanParts {
  readonly plans: readonly PlannedPoint[];
  readonly onChange: (at: number, part: Partial<PlannedPoint>) => void;
}

function PlanTable({ plans, onChange }: PlanParts) {
  return (
    <table className={table['table']} aria-label={words.title}>
      <thead>
        <tr>
          {Object.values(words.columns).map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {plans.map(({ place, name, unit, kind, type }, at) => (
          <tr key={place.key}>
            <td>{place.label}</td>
            <td>
              <TextInput
                aria-label={words.nameOf(place.label)}
                value={name}
                maxLength={128}
                onChange={(event) => onChange(at, { name: event.currentTarget.value })}
              />
            </td>
            <td>
              <TextInput
                aria-label={words.unitOf(place.label)}
                value={unit}
                maxLength={64}
                onChange={(event) => onChange(at, { unit: event.currentTarget.value })}
              />
            </td>
            <td>
              <NativeSelect
                aria-label={words.kindOf(place.label)}
                value={kind}
                onChange={(event) => onChange(at, { kind: event.currentTarget.value as PlannedPoint['kind'] })}
                data={Object.entries(words.kinds).map(([value, label]) => ({ value, label }))}
              />
              {place.isTyped && (
                <NativeSelect
                  aria-label={words.typeOf(place.label)}
                  value={type}
                  onChange={(event) => onChange(at, { type: event.currentTarget.value as PlannedPoint['type'] })}
                  data={[...registerTypes]}
                />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
