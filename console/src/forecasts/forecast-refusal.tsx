/** Why a run was refused: in words, with every violated rule in a table. */
import { Table } from '@mantine/core';
import * as Type from 'typebox';
import { Check } from 'typebox/schema';
import { ApiError } from '../../../src/api/client.ts';
import { Failure } from '../parts/failure.tsx';
import { fullTime } from '../parts/moment.tsx';
import { shownNumber } from '../parts/number.ts';
import { forecastWords, unavailableText } from '../strings/forecasts.ts';
import { t } from '../strings/index.ts';
import classes from './forecasts.module.css';

const words = forecastWords.refusal;

const scalar = Type.Union([Type.Number(), Type.String(), Type.Boolean(), Type.Null()]);
const reasonList = Type.Object({
  reasons: Type.Array(
    Type.Object({
      rule: Type.String(),
      segment: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      feature: Type.Optional(Type.Union([Type.String(), Type.Null()])),
      observed: Type.Optional(scalar),
      limit: Type.Optional(scalar),
      first_label: Type.Optional(Type.String()),
      last_label: Type.Optional(Type.String()),
    }),
  ),
});

export function ForecastRefusal({ error }: { error: unknown }) {
  const details = error instanceof ApiError ? error.details : {};
  const reasons = Check(reasonList, details) ? details.reasons : [];
  const retryMs = error instanceof ApiError ? error.retryAfterMs : null;
  const { check, path, code, reason } = details;
  return (
    <div data-testid="refusal">
      <Failure error={error} />
      {typeof check === 'string' && <p>{words.check(check, typeof path === 'string' ? path : '')}</p>}
      {typeof code === 'string' && <p>{words.processorCode(code)}</p>}
      {typeof reason === 'string' && <p>{words.unavailable(unavailableText(reason))}</p>}
      {retryMs !== null && <p>{words.retryAfter(Math.max(1, Math.ceil(retryMs / 1000)))}</p>}
      {reasons.length > 0 && (
        <Table className={classes['table'] ?? ''} aria-label={words.reasons} mt="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.columns.rule}</Table.Th>
              <Table.Th>{words.columns.feature}</Table.Th>
              <Table.Th>{words.columns.observed}</Table.Th>
              <Table.Th>{words.columns.limit}</Table.Th>
              <Table.Th>{words.columns.where}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {reasons.map((broken, index) => (
              <Table.Tr key={index}>
                <Table.Td>{words.rules[broken.rule] ?? broken.rule}</Table.Td>
                <Table.Td>{broken.feature ?? words.all}</Table.Td>
                <Table.Td>{scalarText(broken.observed)}</Table.Td>
                <Table.Td>{scalarText(broken.limit)}</Table.Td>
                <Table.Td>{rangeText(broken.first_label, broken.last_label)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  );
}

function scalarText(value: number | string | boolean | null | undefined): string {
  if (typeof value === 'number') return shownNumber(value);
  return value === undefined || value === null ? t.common.none : String(value);
}

function rangeText(first: string | undefined, last: string | undefined): string {
  if (first === undefined) return t.common.none;
  return last === undefined || last === first ? fullTime(first) : `${fullTime(first)} … ${fullTime(last)}`;
}
