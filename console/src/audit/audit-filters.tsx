/** The filters of the audit query: exact words, and a time range in the browser's time zone. */
import { Autocomplete, Button, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type AuditFilterName, type AuditSearch, auditFilterNames } from '../addresses.ts';
import { localTimeOf, msOfLocal } from '../parts/local-time.ts';
import { auditWords } from '../strings/audit.ts';
import classes from './audit.module.css';

const words = auditWords.filters;
const resourceKinds = ['automation-rule', 'automation-scheduler', 'processing-binding', 'identity-token'];
const identifier = /^[A-Za-z0-9._:-]{1,128}$/;

interface FilterParts {
  readonly search: AuditSearch;
  readonly onSearch: (next: AuditSearch) => void;
}

export function AuditFilters({ search, onSearch }: FilterParts) {
  const [typed, setTyped] = useState<AuditSearch>(search);
  const apply = (next: AuditSearch): void => {
    if (faultsOf(next).size === 0) onSearch(withoutEmpty(next));
  };
  const change = (name: AuditFilterName, value: string | undefined): AuditSearch => {
    const { [name]: _, ...others } = typed;
    const next = value === undefined || value === '' ? others : { ...others, [name]: value };
    setTyped(next);
    return next;
  };
  const faults = faultsOf(typed);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    apply(typed);
  };
  const text = (name: AuditFilterName, choices: readonly string[]) => (
    <Autocomplete
      label={words[name === 'correlation' || name === 'event' ? 'action' : name]}
      placeholder={words.any}
      value={typed[name] ?? ''}
      data={[...choices]}
      error={faults.get(name)}
      onChange={(value) => change(name, value.trim())}
      onOptionSubmit={(value) => apply(change(name, value))}
      onBlur={() => apply(typed)}
    />
  );
  const time = (name: 'from' | 'to') => (
    <TextInput
      type="datetime-local"
      step={1}
      label={words[name]}
      value={localTimeOf(typed[name] ?? '')}
      error={faults.get(name)}
      onChange={(event) => change(name, wireTime(event.currentTarget.value, name))}
      onBlur={() => apply(typed)}
    />
  );
  const isFiltered = auditFilterNames.some((name) => name !== 'event' && search[name] !== undefined);
  return (
    <form className={classes['filters']} aria-label={words.label} onSubmit={submit}>
      {text('action', Object.keys(auditWords.actions))}
      {text('resourceKind', resourceKinds)}
      {text('resourceId', [])}
      {text('subjectId', [])}
      {time('from')}
      {time('to')}
      {/* Enter in any field applies. */}
      <button type="submit" hidden />
      {isFiltered && (
        <Button variant="default" mt={25} onClick={() => onSearch({})}>
          {words.clear}
        </Button>
      )}
    </form>
  );
}

function withoutEmpty(search: AuditSearch): AuditSearch {
  const { event: _, ...filters } = search;
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ''));
}

function faultsOf(search: AuditSearch): Map<AuditFilterName, string> {
  const faults = new Map<AuditFilterName, string>();
  for (const name of ['action', 'resourceKind', 'resourceId'] as const) {
    const value = search[name];
    if (value !== undefined && !identifier.test(value)) faults.set(name, words.badId);
  }
  if (search.from !== undefined && search.to !== undefined && search.from > search.to) faults.set('to', words.badOrder);
  return faults;
}

/** API times have milliseconds: "to" includes the whole second. */
function wireTime(local: string, name: 'from' | 'to'): string | undefined {
  const ms = msOfLocal(local);
  if (ms === null) return undefined;
  return new Date(name === 'to' ? ms + 999 : ms).toISOString();
}
