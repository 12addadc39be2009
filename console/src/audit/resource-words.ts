/** The resource of an audit event by its everyday name: a rule, a point, a parameter, the owner of a token. */
import type { ConsoleCatalogue } from '../editor/site-catalogue.ts';
import { pointLabel } from '../editor/site-catalogue.ts';
import { auditWords } from '../strings/audit.ts';

const words = auditWords.resources;

interface Known {
  readonly rules: ReadonlyMap<number, string> | undefined;
  readonly catalogue: ConsoleCatalogue | null;
}

/** Null if it has no name but its id. */
export function resourceName(id: string, { rules, catalogue }: Known): string | null {
  const [kind = '', ...rest] = id.split(':');
  const name = rest.join(':');
  switch (kind) {
    case 'automation-rule':
      if (name === 'apply') return words.plan;
      return rules?.get(Number(name)) ?? null;
    case 'automation-point': {
      const [instance, type, point] = rest;
      const point_type = type === 'A' ? 'action' : 'measurement';
      const found = catalogue?.point({ instance: Number(instance), point_type, point: Number(point) });
      return found === undefined ? null : pointLabel(found);
    }
    case 'identity-token':
      return name === '' ? null : words.tokenFor(name);
    case 'identity-user':
    case 'automation-parameter':
    case 'automation-alarm':
    case 'processing-binding':
      return name === '' ? null : name;
    default:
      return null;
  }
}
