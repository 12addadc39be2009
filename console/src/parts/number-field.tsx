/** A field for a number: what is typed stays as it was typed, and arrow keys go one step. */
import { TextInput, type TextInputProps } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { t } from '../strings/index.ts';
import { isWithin, type NumberRange, stepped, typedNumber } from './number-text.ts';

interface NumberParts extends NumberRange, Omit<TextInputProps, 'value' | 'onChange' | 'min' | 'max' | 'step'> {
  readonly value: number | null;
  /** Only numbers within the range are reported, and none is never one: for what always has a value. */
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
  const written = value === null ? '' : String(value);
  const [typed, setTyped] = useState({ text: written, of: value });
  // A value that came from elsewhere, as by undo, replaces what was typed.
  const text = Object.is(typed.of, value) ? typed.text : written;
  const accept = (next: string, number: number | null): void => {
    const isReported = !required || (number !== null && isWithin(number, range));
    setTyped({ text: next, of: isReported ? number : value });
    if (isReported && number !== value) onChange(number);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (rest.readOnly === true || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
    event.preventDefault();
    const next = stepped(value, event.key === 'ArrowUp' ? step : -step, range);
    accept(String(next), next);
  };
  const isOdd = text.trim() !== '' && typedNumber(text) === null;
  return (
    <TextInput
      inputMode={integer === true ? 'numeric' : 'decimal'}
      autoComplete="off"
      {...rest}
      error={isOdd ? t.common.notNumber : rest.error}
      value={text}
      onKeyDown={onKeyDown}
      onChange={(event) => accept(event.currentTarget.value, typedNumber(event.currentTarget.value))}
      onBlur={() => {
        if (required && !Object.is(typedNumber(text), value)) setTyped({ text: written, of: value });
      }}
    />
  );
}
