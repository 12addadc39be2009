/** Triggers [rules §3.1]: reading `trigger_config`, strictly, with every issue at once. */
import type { SiteCatalogue } from '../../site/catalogue.ts';
import type { Issue } from '../issues.ts';
import { Issues, isFields, Reader } from '../issues.ts';
import { type Trigger, triggerKind, triggerTypes } from './index.ts';

export type ParsedTrigger =
  | { readonly ok: true; readonly trigger: Trigger }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** Period of a rule without trigger and without cooldown, in milliseconds [rules §3.1]. */
export const defaultIntervalMs = 1000;

/** The trigger in effect: the rule's own, else its cooldown as the period when that is above 0, else one second. */
export function effectiveTrigger(trigger: Trigger | null, cooldownMs: number): Trigger {
  return trigger ?? { type: 'interval', interval_ms: cooldownMs > 0 ? cooldownMs : defaultIntervalMs };
}

export function parseTrigger(value: unknown, catalogue: SiteCatalogue): ParsedTrigger {
  const issues = new Issues();
  if (!isFields(value)) {
    issues.add('invalid-trigger', '', 'a trigger is an object', '{"type":"interval","interval_ms":1000}');
    return { ok: false, issues: issues.list };
  }
  const reader = new Reader(value, '', undefined, issues);
  const trigger = readTrigger(reader, catalogue);
  return trigger === undefined || issues.list.length > 0 ? { ok: false, issues: issues.list } : { ok: true, trigger };
}

function readTrigger(reader: Reader, catalogue: SiteCatalogue): Trigger | undefined {
  const kind = triggerKind(reader.get('type'));
  if (kind === undefined) {
    const message = `'type' must be ${triggerTypes.join(' or ')}`;
    reader.fault('unknown-trigger-type', 'type', message, '{"type":"interval","interval_ms":1000}');
    return undefined;
  }
  reader.onlyKnown(['type', ...kind.fields]);
  const members = kind.read(reader, catalogue);
  // Each kind reads the members of a trigger of its type.
  return members === undefined ? undefined : ({ type: kind.type, ...members } as Trigger);
}
