/** The events that are shown, counted by action, person, resource and outcome: a click filters. */
import { UnstyledButton } from '@mantine/core';
import type { AuditSearch } from '../addresses.ts';
import { auditWords } from '../strings/audit.ts';
import classes from './audit.module.css';
import type { AuditEvent } from './audit-queries.ts';
import { actionWords } from './audit-words.ts';
import { type FacetName, facetNames, facetsOf } from './facets.ts';

const valuesMax = 6;

interface FacetParts {
  readonly items: readonly AuditEvent[];
  readonly search: AuditSearch;
  readonly nameOf: (resourceId: string) => string | null;
  readonly onSearch: (next: AuditSearch) => void;
}

export function AuditFacets({ items, search, nameOf, onSearch }: FacetParts) {
  const { event: _, ...filters } = search;
  const text = (name: FacetName, value: string): string => {
    if (name === 'action') return actionWords(value);
    if (name === 'resourceId') return nameOf(value) ?? value;
    return name === 'outcome' ? (auditWords.outcomes[value as AuditEvent['outcome']] ?? value) : value;
  };
  return (
    <div className={classes['facets']} data-testid="facets">
      {facetNames.map((name) => (
        <section key={name} aria-label={auditWords.facets[name]}>
          <h2>{auditWords.facets[name]}</h2>
          <ul>
            {facetsOf(items, name, valuesMax).map(({ value, count }) => (
              <li key={value}>
                {/* The service has no filter by outcome. */}
                {name === 'outcome' ? (
                  <span>
                    {text(name, value)} <b>{count}</b>
                  </span>
                ) : (
                  <UnstyledButton
                    aria-pressed={search[name] === value}
                    onClick={() => {
                      const { [name]: set, ...others } = filters;
                      onSearch(set === value ? others : { ...filters, [name]: value });
                    }}
                  >
                    {text(name, value)} <b>{count}</b>
                  </UnstyledButton>
                )}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}
