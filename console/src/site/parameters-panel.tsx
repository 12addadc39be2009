/** The parameters of the site: their values now, and beside a changed one the value of the site file. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { automation } from '../../../src/api/automation.ts';
import { reasonLengthMax, reasonLengthMin } from '../../../src/api/wire.ts';
import { announce } from '../parts/announce.tsx';
import { Failure } from '../parts/failure.tsx';
import { shownNumber, withUnit } from '../parts/number.ts';
import { NumberField } from '../parts/number-field.tsx';
import { Tag } from '../parts/tag.tsx';
import classes from '../points/points.module.css';
import { call } from '../server/calls.ts';
import { queryClient, type SiteView, useSite } from '../server/queries.ts';
import { useSession } from '../session/session.ts';
import { mayManage } from '../session/token.ts';
import { t } from '../strings/index.ts';
import { siteWords } from '../strings/points.ts';

const words = siteWords.parameters;

type Parameter = SiteView['parameters'][number];

export function ParametersPanel() {
  const site = useSite();
  const session = useSession();
  const [edited, setEdited] = useState<Parameter | null>(null);
  const may = session.status !== 'out' && mayManage(session.facts.role);
  const parameters = site.data?.parameters ?? [];
  if (parameters.length === 0) return null;
  return (
    <section className={classes['panel']} aria-labelledby="parameters">
      <h2 id="parameters" className={classes['heading']}>
        {words.title}
      </h2>
      <ul className={classes['list']}>
        {parameters.map((parameter) => (
          <li key={parameter.name} className={classes['row']} data-parameter={parameter.name}>
            <span>{parameter.name}</span>
            {parameter.changed && (
              <Tag tone="info">{words.changed(withUnit(parameter.file_value, parameter.unit))}</Tag>
            )}
            <span className={classes['number']}>
              {withUnit(parameter.value, parameter.unit)}{' '}
              {may && (
                <Button
                  size="compact-xs"
                  variant="default"
                  aria-label={words.edit(parameter.name)}
                  onClick={() => setEdited(parameter)}
                >
                  {words.change}
                </Button>
              )}
            </span>
          </li>
        ))}
      </ul>
      {edited !== null && <ParameterDialog parameter={edited} onClose={() => setEdited(null)} />}
    </section>
  );
}

function ParameterDialog({ parameter, onClose }: { parameter: Parameter; onClose: () => void }) {
  const { name, unit, min, max } = parameter;
  const [value, setValue] = useState<number | null>(parameter.value);
  const [reason, setReason] = useState('');
  const params = { name };
  const done = async (): Promise<void> => {
    announce(words.done(name));
    onClose();
    await queryClient.invalidateQueries({ queryKey: ['site'] });
  };
  const update = useMutation({
    mutationFn: (next: number) => {
      const why = reason.trim();
      const body = { value: next, ...(why === '' ? {} : { reason: why }) };
      return call(automation.parameterUpdate, { params, body, confirmed: true });
    },
    onSuccess: done,
  });
  const reset = useMutation({
    mutationFn: () => call(automation.parameterReset, { params, query: { confirmed: 'true' }, confirmed: true }),
    onSuccess: done,
  });
  const isComplete = value !== null && (reason.trim() === '' || reason.trim().length >= reasonLengthMin);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (value !== null && isComplete) update.mutate(value);
  };
  return (
    <Modal opened onClose={onClose} title={words.edit(name)} closeButtonProps={{ 'aria-label': t.common.close }}>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm" c="dimmed">
            {words.lead} {t.rules.dialog.audited}
          </Text>
          <NumberField
            data-autofocus
            label={words.value(unit ?? '1')}
            description={min === null && max === null ? undefined : words.range(shownNumber(min), shownNumber(max))}
            value={value}
            onChange={setValue}
          />
          <TextInput
            label={words.reason}
            maxLength={reasonLengthMax}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          {update.isError && <Failure error={update.error} />}
          {reset.isError && <Failure error={reset.error} />}
          <Group justify="flex-end">
            {parameter.changed && (
              <Button variant="default" loading={reset.isPending} onClick={() => reset.mutate()}>
                {words.reset(withUnit(parameter.file_value, unit))}
              </Button>
            )}
            <Button variant="default" onClick={onClose}>
              {t.common.cancel}
            </Button>
            <Button type="submit" disabled={!isComplete} loading={update.isPending}>
              {words.change}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
