/** The parameter values in force [points §9]: stored values override those of the site file. */
import { createTurn, type InTurn } from '../base/in-turn.ts';
import type { Parameter, SiteCatalogue } from '../site/catalogue.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { sameData } from '../site/site-change.ts';
import { madeOfSite, type ReadSite } from '../site/site-in-force.ts';
import type { ParameterStore } from './store/parameter-store.ts';

export type SiteParameters = Readonly<Record<string, Parameter>>;

/** The parameters in force. A stored value does not count if its parameter is gone or its range no longer allows it. */
export function overlaid(inFile: SiteParameters, stored: ReadonlyMap<string, number>): SiteParameters {
  return Object.fromEntries(
    Object.entries(inFile).map(([name, parameter]) => {
      const value = stored.get(name);
      const counts = value !== undefined && value !== parameter.value && isAllowed(value, parameter);
      return [name, counts ? { ...parameter, value, fileValue: parameter.value } : parameter];
    }),
  );
}

/** A sentence for each parameter whose stored value its range no longer allows. One that is gone is in no rule. */
function ignoredValues(inFile: SiteParameters, stored: ReadonlyMap<string, number>): string[] {
  return Object.entries(inFile).flatMap(([name, parameter]) => {
    const value = stored.get(name);
    if (value === undefined || isAllowed(value, parameter)) return [];
    return [
      `parameter ${name} was changed to ${value}, which its range in site.yaml excludes: ${parameter.value} of the file is in force`,
    ];
  });
}

export function isAllowed(value: number, { min = value, max = value }: Parameter): boolean {
  return value >= min && value <= max;
}

/** The parameters as their file has them, whatever is stored. */
function asInFile(parameters: SiteParameters): SiteParameters {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, { fileValue, ...parameter }]) => [
      name,
      fileValue === undefined ? parameter : { ...parameter, value: fileValue },
    ]),
  );
}

export interface ParametersInForce {
  current(): SiteParameters;
  /** The catalogue of the site with them. */
  catalogue(): SiteCatalogue;
  use(parameters: SiteParameters): void;
  /** Changes of parameters, from reading to applying, run one after the other, so that no change undoes another. */
  readonly inTurn: InTurn;
  /** Those of `from`, by default the last applied file, with the values stored now. */
  read(from?: SiteParameters): Promise<SiteParameters>;
  /** Sentences about stored values that are not in force, of the same parameters. */
  ignored(from?: SiteParameters): Promise<readonly string[]>;
  /** In turn: reads them, calls `take`, and puts them in force unless it throws. */
  renew<T>(
    take: (parameters: SiteParameters) => Promise<T>,
    from?: () => SiteParameters | Promise<SiteParameters>,
  ): Promise<{ readonly before: SiteParameters; readonly after: SiteParameters; readonly taken: T }>;
}

/** `initial`: those in force at the start. */
export function parametersInForce(
  site: ReadSite,
  initial: SiteParameters,
  stored: Pick<ParameterStore, 'all'>,
): ParametersInForce {
  let current = initial;
  const catalogueOf = () => madeOfSite(site, (now) => siteCatalogue({ ...now, parameters: current }));
  let catalogue = catalogueOf();
  const inTurn = createTurn();
  const use = (parameters: SiteParameters): void => {
    current = parameters;
    catalogue = catalogueOf();
  };
  const read = async (from = current) => overlaid(asInFile(from), await stored.all());
  return {
    current: () => current,
    catalogue: () => catalogue(),
    use,
    inTurn,
    read,
    ignored: async (from = current) => ignoredValues(asInFile(from), await stored.all()),
    renew: (take, from = () => current) =>
      inTurn(async () => {
        const before = current;
        const after = await read(await from());
        const taken = await take(after);
        // A takeover does not wait for its turn: the file that it has read is used.
        if (current === before && !sameData(before, after)) use(after);
        return { before, after, taken };
      }),
  };
}
