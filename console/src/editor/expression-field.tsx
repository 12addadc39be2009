/** A field for an expression [rules §5.1]: completes names and functions and shows errors while you type. */
import { Textarea } from '@mantine/core';
import { type KeyboardEvent, useId, useRef, useState } from 'react';
import { type FunctionName, functionTable, isFunctionName } from '../../../src/rules/expression/function-table.ts';
import type { functionHelp } from '../strings/function-help.ts';
import { t } from '../strings/index.ts';
import classes from './expression-field.module.css';
import type { VisibleName } from './visible-names.ts';

const words = t.nodes;
const suggestionsMax = 12;

interface Suggestion {
  readonly insert: string;
  readonly name: string;
  readonly source: string;
}

interface FieldParts {
  readonly label: string;
  readonly description?: string;
  readonly value: string;
  readonly names: readonly VisibleName[];
  /** The parser's error. */
  readonly error: string | undefined;
  readonly path: string;
  readonly readOnly: boolean;
  readonly onChange: (value: string) => void;
}

type FunctionHelp = typeof functionHelp;

function functionSuggestions(help: FunctionHelp | null): Suggestion[] {
  return Object.entries(functionTable).map(([name, facts]) => {
    const known = help !== null && isFunctionName(name) ? help[name] : undefined;
    return {
      insert: facts.maximumArguments === 0 ? `${name}()` : `${name}(`,
      name: known?.signature ?? `${name}(${facts.maximumArguments === 0 ? '' : '…'})`,
      source: known?.about ?? words.functionHint,
    };
  });
}

/** The innermost function around the caret. */
function callAround(text: string, caret: number): FunctionName | null {
  let depth = 0;
  for (let at = caret - 1; at >= 0; at--) {
    if (text[at] === ')') depth++;
    else if (text[at] === '(' && depth-- === 0) {
      const name = wordBefore(text, at);
      if (isFunctionName(name)) return name;
      depth = 0;
    }
  }
  return null;
}

/** Loaded when a field is first used; until then, only names and argument positions are shown. */
function useFunctionHelp() {
  const [help, setHelp] = useState<FunctionHelp | null>(null);
  const fetchHelp = (): void => {
    if (help !== null) return;
    import('../strings/function-help.ts').then(
      (fetched) => setHelp(fetched.functionHelp),
      () => undefined,
    );
  };
  return { help, fetchHelp };
}

/** The word that ends at the caret. */
function wordBefore(text: string, caret: number): string {
  return /[A-Za-z_][A-Za-z0-9_]*$/.exec(text.slice(0, caret))?.[0] ?? '';
}

function suggestionsFor(word: string, names: readonly VisibleName[], help: FunctionHelp | null): Suggestion[] {
  const wanted = word.toLowerCase();
  const own = names.map(
    ({ name, source, unit }): Suggestion => ({
      insert: name,
      name,
      source: unit === '' || unit === '1' ? source : `${source} [${unit}]`,
    }),
  );
  const found = [...own, ...functionSuggestions(help)].filter(
    ({ insert }) => insert.toLowerCase().includes(wanted) && insert !== word,
  );
  const rank = ({ insert }: Suggestion): number => (insert.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.toSorted((a, b) => rank(a) - rank(b)).slice(0, suggestionsMax);
}

export function ExpressionField(parts: FieldParts) {
  const { label, description, value, names, error, path, readOnly, onChange } = parts;
  const input = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  /** The word that is being completed; null while the list is closed. */
  const [word, setWord] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const { help, fetchHelp } = useFunctionHelp();
  /** The function whose arguments are being typed. */
  const [call, setCall] = useState<FunctionName | null>(null);
  const shown = word === null ? [] : suggestionsFor(word, names, help);
  const isOpen = shown.length > 0;

  const complete = (suggestion: Suggestion | undefined): void => {
    const field = input.current;
    if (field === null || suggestion === undefined || word === null) return;
    const caret = field.selectionStart;
    const begin = caret - word.length;
    const text = value.slice(0, begin) + suggestion.insert + value.slice(caret);
    onChange(text);
    setWord(null);
    const to = begin + suggestion.insert.length;
    // After React has updated the text.
    queueMicrotask(() => {
      field.focus();
      field.setSelectionRange(to, to);
    });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const current = Math.min(at, shown.length - 1);
    if (event.key === ' ' && event.ctrlKey) setWord(wordBefore(value, input.current?.selectionStart ?? value.length));
    else if (!isOpen) return;
    else if (event.key === 'ArrowDown') setAt((current + 1) % shown.length);
    else if (event.key === 'ArrowUp') setAt((current + shown.length - 1) % shown.length);
    else if (event.key === 'Enter' || event.key === 'Tab') complete(shown[current]);
    else if (event.key === 'Escape') setWord(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className={classes['place']}>
      <Textarea
        ref={input}
        label={label}
        description={description}
        value={value}
        error={error}
        readOnly={readOnly}
        autosize
        minRows={1}
        maxRows={8}
        spellCheck={false}
        autoComplete="off"
        data-path={path}
        classNames={{ input: classes['input'] ?? '' }}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={isOpen ? listId : undefined}
        aria-activedescendant={isOpen ? `${listId}-${Math.min(at, shown.length - 1)}` : undefined}
        onKeyDown={onKeyDown}
        onFocus={fetchHelp}
        onBlur={() => {
          setWord(null);
          setCall(null);
        }}
        onSelect={({ currentTarget }) => setCall(callAround(currentTarget.value, currentTarget.selectionStart))}
        onChange={(event) => {
          const text = event.currentTarget.value.replaceAll('\n', ' ');
          const typed = wordBefore(text, event.currentTarget.selectionStart);
          onChange(text);
          setAt(0);
          setWord(typed === '' ? null : typed);
        }}
      />
      {call !== null && help !== null && (
        <p className={classes['help']} data-testid="function-help">
          <code>{help[call].signature}</code>: {help[call].about}
        </p>
      )}
      {isOpen && (
        <div id={listId} role="listbox" aria-label={words.suggestions} className={classes['list']}>
          {shown.map((suggestion, index) => (
            <div
              key={suggestion.name}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === Math.min(at, shown.length - 1)}
              className={classes['option']}
              // Before the field loses the focus, which closes the list.
              onMouseDown={(event) => {
                event.preventDefault();
                complete(suggestion);
              }}
            >
              <span className={classes['name']}>{suggestion.name}</span>
              <span className={classes['source']}>{suggestion.source}</span>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
