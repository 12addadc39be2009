/**
 * Rules as the audit recorded them [audit §7], against the stored rules: a rule changed directly in the database differs from the
 * last `after`. An event without a counterpart is not a fault: an act left open by a crash, or one whose record retention
 * removed.
 */
import { canonicalJson } from '../base/canonical-json.ts';
import { isObject } from '../base/json.ts';
import { parsedOrNull } from './rule-view.ts';

/** The part of an audit event used here. */
export interface RecordedEvent {
  readonly sequence: string;
  readonly eventId: string;
  readonly action: string;
  readonly resourceId: string;
  readonly outcome: string;
  readonly acceptedEventId: string | null;
  /** Canonical JSON. */
  readonly details: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

interface RecordedRule {
  readonly sequence: string;
  /** Null when it was deleted. */
  readonly fields: Fields | null;
}

/** Members of a rule that nobody but a recorded act changes. */
const compared = [
  'name',
  'description',
  'enabled',
  'mode',
  'priority',
  'cooldown_ms',
  'trigger_config',
  'flow_json',
  'nodes_json',
] as const;
const resourcePrefix = 'automation-rule:';
/** Acts that create rules and change no existing one, whatever their resource: a copy has that of its original. */
const creating: ReadonlySet<string> = new Set(
  ['create', 'duplicate', 'instantiate'].map((act) => `automation.rule.${act}`),
);
const running = 'automation.rule.execute';

/** An act, reduced to the rules that it may have changed. */
type Act = Pick<RecordedEvent, 'action' | 'resourceId'>;

export class RecordedRules {
  readonly #rules = new Map<number, RecordedRule>();
  /** Changed members of rules whose creation is not recorded yet: its record may be written late. */
  readonly #early = new Map<number, Fields>();
  /** Acts that were accepted and have not ended, by the id of the event. */
  readonly #open = new Map<string, Act>();
  /** Acts that were open at the same time as another act on the same rule, and those that were closed as `unknown`. */
  readonly #overlapping = new Set<string>();
  readonly #unknown = new Set<number>();
  /** An act that created rules may have ended without its record: rules without events may come from it. */
  #mayHaveMade = false;

  add(event: RecordedEvent): void {
    if (!event.resourceId.startsWith(resourcePrefix) || event.action === running) return;
    if (event.outcome === 'accepted') this.#begin(event);
    else if (event.acceptedEventId !== null) this.#open.delete(event.acceptedEventId);
    if (event.outcome === 'unknown') this.#lose(event);
    if (event.outcome === 'succeeded') this.#take(event);
    if (event.acceptedEventId === null) return;
    // For concurrent acts, the order of their ends is not that of their changes.
    if (this.#overlapping.delete(event.acceptedEventId)) this.#lose(event);
    // If the process was only suspended, the act ends once more, possibly after later ones.
    if (event.outcome === 'unknown') this.#overlapping.add(event.acceptedEventId);
  }

  /** The differences, one sentence each; `stored` as in the table. `isWhole`: no record was removed by retention. */
  compare(stored: readonly Fields[], isWhole: boolean): string[] {
    for (const act of this.#open.values()) this.#lose(act);
    const found: string[] = [];
    const present = new Set<number>();
    for (const raw of stored) {
      const row = fieldsOf(raw);
      const id = Number(row['id']);
      present.add(id);
      if (this.#unknown.has(id)) continue;
      const recorded = this.#rules.get(id);
      if (recorded === undefined) {
        if (isWhole && !this.#mayHaveMade)
          found.push(`rule ${id} was put into the database: no event records it (edited-outside)`);
      } else if (recorded.fields === null)
        found.push(`rule ${id} is there although event ${recorded.sequence} deleted it (edited-outside)`);
      else {
        const { fields } = recorded;
        const other = compared.filter((name) => name in fields && !isSame(fields[name], row[name]));
        if (other.length > 0)
          found.push(
            `rule ${id} was edited in the database: ${other.join(', ')} not as event ${recorded.sequence} recorded (edited-outside)`,
          );
      }
    }
    for (const [id, { fields, sequence }] of this.#rules) {
      if (fields === null || present.has(id) || this.#unknown.has(id)) continue;
      found.push(`rule ${id}, as event ${sequence} recorded it, was removed from the database (edited-outside)`);
    }
    return found;
  }

  #begin({ eventId, action, resourceId }: RecordedEvent): void {
    for (const [other, about] of this.#open)
      if (mayMeet(about, { action, resourceId })) {
        this.#overlapping.add(other);
        this.#overlapping.add(eventId);
      }
    this.#open.set(eventId, { action, resourceId });
  }

  #take({ sequence, action, resourceId, details }: RecordedEvent): void {
    const value: unknown = details === null ? null : JSON.parse(details);
    const id = Number(resourceId.slice(resourcePrefix.length));
    if (!isObject(value)) return;
    if (action === 'automation.rule.apply') {
      for (const change of listOf(value['changes'])) {
        const ruleId = Number(change['rule_id']);
        if (change['action'] === 'delete') this.#rules.set(ruleId, { sequence, fields: null });
        else if (isObject(change['after'])) this.#rules.set(ruleId, { sequence, fields: change['after'] });
        // Recorded by an older version, with a part of the rule.
        else this.#unknown.add(ruleId);
      }
      return;
    }
    for (const created of listOf(value['created'])) this.#store(sequence, created);
    for (const { after } of listOf(value['updated'])) if (isObject(after)) this.#store(sequence, after);
    const { after } = value;
    if (creating.has(action)) {
      if (isObject(after)) this.#make(sequence, after);
      return;
    }
    if (after === null && action === 'automation.rule.delete') this.#rules.set(id, { sequence, fields: null });
    if (!isObject(after)) return;
    if ('nodes_json' in after) this.#store(sequence, after);
    else {
      // Enabling and similar acts record only the members that they change.
      const known = this.#rules.get(id)?.fields;
      if (known === undefined) this.#early.set(id, { ...this.#early.get(id), ...after });
      else if (known !== null) this.#rules.set(id, { sequence, fields: { ...known, ...after } });
    }
  }

  /** A new rule. Acts on it that are recorded already came after its creation. */
  #make(sequence: string, fields: Fields): void {
    const id = Number(fields['id']);
    if (!this.#rules.has(id)) this.#store(sequence, { ...fields, ...this.#early.get(id) });
  }

  #store(sequence: string, fields: Fields): void {
    const id = Number(fields['id']);
    this.#rules.set(id, { sequence, fields });
    this.#unknown.delete(id);
  }

  /** After an act with an unknown result, the rule is unknown until its next record. */
  #lose({ action, resourceId }: Act): void {
    const id = ruleOf(resourceId);
    if (creating.has(action) || id === null) this.#mayHaveMade = true;
    if (creating.has(action)) return;
    for (const lost of id === null ? this.#rules.keys() : [id]) this.#unknown.add(lost);
  }
}

/** Null for an act on several rules. */
function ruleOf(resourceId: string): number | null {
  const id = Number(resourceId.slice(resourcePrefix.length));
  return Number.isSafeInteger(id) ? id : null;
}

/** Whether two acts may change the same rule. */
function mayMeet(one: Act, other: Act): boolean {
  if (creating.has(one.action) || creating.has(other.action)) return false;
  return [one, other].some(({ resourceId }) => ruleOf(resourceId) === null) || one.resourceId === other.resourceId;
}

/** A row of the table as a view of a rule has it. */
function fieldsOf(row: Fields): Fields {
  const documents = ['trigger_config', 'flow_json', 'nodes_json'].map((name) => {
    const text = row[name];
    return [name, typeof text === 'string' ? parsedOrNull(text) : null] as const;
  });
  return { ...row, ...Object.fromEntries(documents), enabled: Number(row['enabled']) === 1 };
}

function isSame(recorded: unknown, stored: unknown): boolean {
  return canonicalJson(recorded ?? null) === canonicalJson(stored ?? null);
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
