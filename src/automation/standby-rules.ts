/**
 * The rules of an engine that does not run yet: held and compiled, so that whoever takes over has only their states to read
 * (docs/guides/several-machines.md).
 */
import type { SiteCatalogue } from '../rules/catalogue.ts';
import type { EngineRule, ReloadReport, RuleSetChange } from './engine-contract.ts';
import type { LoadedRule, RuleLoader } from './loaded-rule.ts';

export interface StandbyRules {
  take(change: RuleSetChange): ReloadReport;
  /** Everything that is held, as a first load. */
  all(): RuleSetChange;
  /** What was compiled here is not compiled again. */
  readonly load: RuleLoader;
}

export function createStandbyRules(
  catalogueWith: (parameters: RuleSetChange['parameters']) => SiteCatalogue,
  loader: RuleLoader,
): StandbyRules {
  const compiled = new WeakMap<EngineRule, { readonly catalogue: SiteCatalogue; readonly loaded: LoadedRule }>();
  let rows: ReadonlyMap<number, EngineRule> = new Map();
  let parameters: RuleSetChange['parameters'];

  const load: RuleLoader = (row, catalogue) => {
    const known = compiled.get(row);
    if (known !== undefined && known.catalogue === catalogue) return known.loaded;
    const loaded = loader(row, catalogue);
    compiled.set(row, { catalogue, loaded });
    return loaded;
  };
  return {
    load,
    take(change) {
      parameters = change.parameters ?? parameters;
      const changed = new Map(change.changed.map((row) => [row.id, row]));
      const next = new Map<number, EngineRule>();
      for (const id of change.ids) {
        const row = changed.get(id) ?? rows.get(id);
        if (row === undefined) throw new Error(`a reload names rule ${id} without its row`);
        next.set(id, row);
      }
      rows = next;
      const catalogue = catalogueWith(parameters);
      const loaded = [...rows.values()].filter(({ enabled }) => enabled).map((row) => load(row, catalogue));
      return {
        rules_loaded: loaded.filter(({ failure }) => failure === null).length,
        rules_failed: loaded.flatMap(({ row, failure }) => (failure === null ? [] : [{ id: row.id, code: failure }])),
      };
    },
    all() {
      const all = { ids: [...rows.keys()], changed: [...rows.values()] };
      return parameters === undefined ? all : { ...all, parameters };
    },
  };
}
