/** The listed events, counted by action, person, resource and outcome: a click filters. */
import { UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import type { AuditSearch } from '../addresses.ts';
import { auditWords } from '../strings/audit.ts';
import classes from './audit.module.css';
import type { AuditEvent } from './audit-queries.ts';
import { actionWords } from './audit-words.ts';
import { type FacetName, type FacetValue, facetNames, facetsOf } from './facets.ts';

const words = auditWords.facets;
/** Initial number of values per facet. */
const valuesMax = 6;

interface FacetParts {
  readonly items: readonly AuditEvent[];
  readonly search: AuditSearch;
  readonly nameOf: (resourceId: string) => string | null;
  readonly onSearch: (next: AuditSearch) => void;
}

export function AuditFacets({ items, ...parts }: FacetParts) {
  return (
    <section aria-label={words.among(items.length)} data-testid="facets">
      <p className={classes['keys']}>{words.among(items.length)}</p>
      <div className={classes['facets']}>
        {facetNames.map((name) => (
          <Facet key={name} name={name} values={facetsOf(items, name)} {...parts} />
        ))}
      </div>
    </section>
  );
}

type OneFacet = Omit<FacetParts, 'items'> & { readonly name: FacetName; readonly values: readonly FacetValue[] };

function Facet({ name, values, search, nameOf, onSearch }: OneFacet) {
  const [all, setAll] = useState(false);
  const { event: _, ...filters } = search;
  const text = (value: string): string => {
    if (name === 'action') return actionWords(value);
    if (name === 'resourceId') return nameOf(value) ?? value;
    return name === 'outcome' ? (auditWords.outcomes[value as AuditEvent['outcome']] ?? value) : value;
  };
  const toggle = (value: string): void => {
    if (name === 'outcome') return;
    const { [name]: set, ...others } = filters;
    onSearch(set === value ? others : { ...filters, [name]: value });
  };
  const hidden = all ? 0 : Math.max(0, values.length - valuesMax);
  return (
    <section aria-label={words.names[name]}>
      <h2>{words.names[name]}</h2>
      <ul>
        {values.slice(0, values.length - hidden).map(({ value, count }) => (
          <li key={value}>
            {/* The service has no filter by outcome. */}
            {name === 'outcome' ? (
              <span>
                {text(value)} <b>{count}</b>
              </span>
            ) : (
              <UnstyledButton aria-pressed={search[name] === value} onClick={() => toggle(value)}>
                {text(value)} <b>{count}</b>
              </UnstyledButton>
            )}
          </li>
        ))}
        {hidden > 0 && (
          <li>
            <UnstyledButton onClick={() => setAll(true)}>{words.more(hidden)}</UnstyledButton>
          </li>
        )}
      </ul>
    </section>
  );
}
