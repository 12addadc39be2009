/** The name of a variable or a branch. The typed text becomes the name as soon as it is valid. */
import { TextInput } from '@mantine/core';
import { useState } from 'react';

/** Why a text is not the name yet. `onLeave`: it becomes the name on blur. */
export interface NameFault {
  readonly message: string;
  readonly onLeave: boolean;
}

interface NameParts {
  readonly label: string;
  readonly name: string;
  readonly path: string;
  /** The parser's error for the name. */
  readonly error: string | undefined;
  readonly description?: string | undefined;
  readonly readOnly: boolean;
  readonly inputClass?: string | undefined;
  readonly faultOf: (text: string) => NameFault | null;
  readonly onRename: (to: string) => void;
}

export function NameField(parts: NameParts) {
  const { label, name, path, error, description, readOnly, inputClass = '', faultOf, onRename } = parts;
  // The name has changed since it was typed, for example by undo: drop the text.
  const [typed, setTyped] = useState<{ readonly text: string; readonly over: string } | null>(null);
  const text = typed?.over === name ? typed.text : name;
  const fault = text === name ? null : faultOf(text);
  const type = (next: string): void => {
    const isName = next === name || faultOf(next) === null;
    setTyped(isName ? null : { text: next, over: name });
    if (isName && next !== name) onRename(next);
  };
  const leave = (): void => {
    if (fault?.onLeave !== true) return;
    setTyped(null);
    onRename(text);
  };
  return (
    <TextInput
      label={label}
      description={description}
      value={text}
      readOnly={readOnly}
      data-path={path}
      error={fault === null ? error : fault.message}
      classNames={{ input: inputClass }}
      onChange={(event) => type(event.currentTarget.value)}
      onBlur={leave}
      onKeyDown={(event) => event.key === 'Enter' && leave()}
    />
  );
}
