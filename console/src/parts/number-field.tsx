/** A number field: the typed text is kept, and arrow keys change the value by one step. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { t } from '../strings/index.ts';
import { shownNumber } from './number.ts';
import { isWithin, meaningsOf, type NumberRange, stepped, typedNumber, writtenNumber } from './number-text.ts';

interface NumberParts extends NumberRange, Omit<TextInputProps, 'value' | 'onChange' | 'min' | 'max' | 'step'> {
  readonly value: number | null;
  /** The field always has a value: other input than a number in the range is not reported, and on blur the last value is restored. */
  readonly required?: boolean;
  readonly step?: number;
  readonly onChange: (value: number | null) => void;
}

export function NumberField({ value, onChange, integer, min, max, step = 1, required = false, ...rest }: NumberParts) {
  const range: NumberRange = {
    ...(integer === undefined ? {} : { integer }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
  const written = value === null ? '' : writtenNumber(value);
  const [typed, setTyped] = useState({ text: written, of: value, wasReplaced: false });
  // A value from elsewhere, for example by undo, replaces the typed text.
  const isCurrent = Object.is(typed.of, value);
  const text = isCurrent ? typed.text : written;
  const accept = (next: string, number: number | null): void => {
    const isReported = !required || (number !== null && isWithin(number, range));
    setTyped({ text: next, of: isReported ? number : value, wasReplaced: false });
    if (isReported && number !== value) onChange(number);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (rest.readOnly === true || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
    event.preventDefault();
    const next = stepped(value, event.key === 'ArrowUp' ? step : -step, range);
    accept(writtenNumber(next), next);
  };
  const number = typedNumber(text);
  const isOdd = text.trim() !== '' && number === null;
  const isOutside = number === null ? required : !isWithin(number, range);
  const fault = isOdd || isOutside || (isCurrent && typed.wasReplaced) ? faultOf(text, range) : undefined;
  return (
    <TextInput
      inputMode={integer === true ? 'numeric' : 'decimal'}
      autoComplete="off"
      {...rest}
      error={isOdd ? fault : (rest.error ?? fault)}
      value={text}
      onKeyDown={onKeyDown}
      onChange={(event) => accept(event.currentTarget.value, typedNumber(event.currentTarget.value))}
      onBlur={() => {
        if (required && !Object.is(number, value)) setTyped({ text: written, of: value, wasReplaced: true });
      }}
    />
  );
}

function faultOf(text: string, { integer = false, min, max }: NumberRange): string {
  const meanings = meaningsOf(text);
  if (meanings !== null) return t.common.numberMeanings(meanings.whole, meanings.fraction);
  const shown = (bound: number | undefined): string | null => (bound === undefined ? null : shownNumber(bound));
  return t.common.numberWithin(integer, shown(min), shown(max));
}
