/**
 * The stored rules in the engine's thread: rows, and their compiled form. They are staged in bounded turns, so
 * that neither many rules nor a large one delays a tick [rules §6.4], and so that an engine that takes
 * over only has to read their states (docs/guides/several-machines.md).
 */
import type { Clock } from '../base/clock.ts';
import { createPace } from '../base/turns.ts';
import type { SiteCatalogue } from '../site/catalogue.ts';
import type {
  EngineRule,
  ReloadReport,
  RuleFailureCode,
  RuleRowsChange,
  RuleSetChange,
  StagedRules,
} from './engine-contract.ts';
import type { LoadedRule, RuleLoader } from './loaded-rule.ts';

/** Compile budget per turn, in milliseconds: with a garbage collection pause and a tick, a turn stays below 25 ms. */
const turnMs = 2;

export interface HeldRules {
  /** Compiles the rows, and those of the named rules that are already held, in turns. They are not part of the set yet. */
  stage(staged: StagedRules): Promise<void>;
  /** Changes the set, and empties the stage. Returns the change with its rows. */
  take(change: RuleSetChange): RuleRowsChange;
  /** The answer of an engine that applied the set. */
  report(): ReloadReport;
  /** Everything in the set, as a first load. */
  all(): RuleRowsChange;
  /** Rules compiled here are not compiled again. */
  readonly load: (row: EngineRule, catalogue: SiteCatalogue) => LoadedRule;
}

export function createHeldRules(
  catalogueWith: (parameters: RuleSetChange['parameters']) => SiteCatalogue,
  loader: RuleLoader,
  clock: Clock,
): HeldRules {
  const compiled = new WeakMap<EngineRule, { readonly catalogue: SiteCatalogue; readonly loaded: LoadedRule }>();
  const staged = new Map<number, EngineRule>();
  const rows = new Map<number, EngineRule>();
  let parameters: RuleSetChange['parameters'];
  let partial = false;

  const known = (row: EngineRule, catalogue: SiteCatalogue): LoadedRule | undefined => {
    const entry = compiled.get(row);
    return entry?.catalogue === catalogue ? entry.loaded : undefined;
  };
  const load: HeldRules['load'] = (row, catalogue) => {
    const before = known(row, catalogue);
    if (before !== undefined) return before;
    const loaded = loader.load(row, catalogue);
    compiled.set(row, { catalogue, loaded });
    return loaded;
  };
  return {
    load,
    async stage(order) {
      const catalogue = catalogueWith(order.parameters ?? parameters);
      const pace = createPace(clock, turnMs);
      const held = (order.ids ?? []).flatMap((id) => staged.get(id) ?? rows.get(id) ?? []);
      for (const row of order.rows) staged.set(row.id, row);
      for (const row of [...held, ...order.rows]) {
        if (known(row, catalogue) !== undefined) continue;
        const steps = loader.steps(row, catalogue);
        for (let step = steps.next(); ; step = steps.next()) {
          if (step.done === true) {
            compiled.set(row, { catalogue, loaded: step.value });
            break;
          }
          await pace();
        }
        await pace();
      }
    },
    take({ ids, ...change }) {
      const changed = ids.map((id) => {
        const row = staged.get(id);
        if (row === undefined) throw new Error(`a reload names rule ${id}, which was not staged`);
        return row;
      });
      for (const row of changed) rows.set(row.id, row);
      for (const id of change.removed) rows.delete(id);
      parameters = change.parameters ?? parameters;
      partial = change.partial ?? false;
      staged.clear();
      return { ...change, changed };
    },
    report() {
      const catalogue = catalogueWith(parameters);
      let loaded = 0;
      const failed: { id: number; code: RuleFailureCode }[] = [];
      for (const row of rows.values()) {
        if (!row.enabled) continue;
        const { failure } = load(row, catalogue);
        if (failure === null) loaded++;
        else failed.push({ id: row.id, code: failure });
      }
      return { rules_loaded: loaded, rules_failed: failed };
    },
    all() {
      const all = { changed: [...rows.values()], removed: [], partial };
      return parameters === undefined ? all : { ...all, parameters };
    },
  };
}
