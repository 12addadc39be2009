/**
 * A changed site file, applied to a running service [points §1.3]: everything is checked before anything is touched, then the
 * engine ends, devices continue with what is new, and an engine of the new site continues where the old one ended.
 */
import type { ParametersInForce } from '../automation/parameters-in-force.ts';
import type { ParameterStore } from '../automation/store/parameter-store.ts';
import type { Log } from '../base/log.ts';
import type { EngineRole } from '../cluster/engine-role.ts';
import type { SiteChanges, SiteReload } from '../operator/site-capabilities.ts';
import type { Parameter } from '../site/catalogue.ts';
import type { Site } from '../site/site.ts';
import { changedSections, type SiteChange, sameData, siteChange } from '../site/site-change.ts';
import type { SiteInForce } from '../site/site-in-force.ts';
import { changeWarnings, siteWarnings } from '../site/site-warnings.ts';
import type { ServiceConfig, ServiceLimits } from './config.ts';
import type { ServiceHistory } from './history.ts';
import { type ReadConfiguration, readProcessing } from './processing.ts';
import type { Publishing } from './publishing.ts';
import { invalidSite, readSiteNow } from './site-file.ts';

export interface ReloadParts {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: SiteInForce;
  readonly parameters: ParametersInForce;
  /** Parameter values that override the site file. */
  readonly stored: ParameterStore;
  readonly role: EngineRole;
  readonly history: ServiceHistory;
  readonly publishing: Publishing;
  /** Null where data processing is switched off. */
  readonly configuration: ReadConfiguration | null;
  readonly log: Log;
}

type Prepared = ReturnType<EngineRole['prepare']>;

interface Found {
  /** The change that brings it into force; null where the service cannot apply the file as it is. */
  readonly next: { readonly site: Site; readonly apply: Prepared['apply'] } | null;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly changes: SiteChanges;
}

const nothing: SiteChanges = {
  channels: { added: [], changed: [] },
  points: { added: [], changed: [] },
  instances: { added: [], changed: [] },
  sections: [],
  issues: [],
  warnings: [],
};

export function siteReload(parts: ReloadParts): SiteReload {
  const { site, parameters, log } = parts;
  const reload = async () => {
    const { next, changes, parameters: inForce } = await found(parts);
    if (next === null) throw invalidSite(changes.issues);
    const sections = changedSections(changes);
    if (sections.length === 0) return { changes, rules: null };
    try {
      const rules = await next.apply(async () => {
        site.use(next.site);
        parameters.use(inForce);
        return inForce;
      });
      log.info('applied the changed site file', { sections });
      for (const warning of new Set([...siteWarnings(next.site), ...changes.warnings])) log.warn(warning);
      return { changes, rules };
    } finally {
      // An engine that does not answer now is started again with this site: what is recorded and published goes with it.
      await parts.history.recording.renew();
      await parts.publishing.renew();
    }
  };
  return {
    changes: async () => (await found(parts)).changes,
    reload: () => parameters.inTurn(reload),
  };
}

/** Compares the file with the running site and lists what prevents a reload. Throws a Fault if the file is invalid. */
async function found({ config, limits, site, parameters, role, configuration }: ReloadParts): Promise<Found> {
  const read = await readSiteNow(config);
  const inForce = await parameters.read(read.parameters);
  const compared = siteChange(site.current(), read);
  if (!compared.ok) return { next: null, parameters: inForce, changes: { ...nothing, issues: compared.issues } };
  const { site: next, sections, ...members } = compared.change;
  const own: SiteChanges['sections'] = sameData(parameters.current(), inForce) ? sections : ['parameters', ...sections];
  const prepared = prepare(role, next);
  const issues = [
    ...notifyIssues(compared.change, limits),
    ...processingIssues(config, next, configuration),
    ...prepared.issues,
  ];
  const { ready } = prepared;
  const known = await parameters.ignored();
  const ignored = (await parameters.ignored(read.parameters)).filter((warning) => !known.includes(warning));
  return {
    next: issues.length === 0 && ready !== null ? { site: next, apply: ready.apply } : null,
    parameters: inForce,
    changes: {
      ...members,
      channels: withRenewed(members.channels, ready?.renewed ?? []),
      sections: own,
      issues,
      warnings: [...changeWarnings(site.current(), next), ...ignored],
    },
  };
}

/** A channel has also changed when one of its files has, such as a renewed certificate. */
function withRenewed({ added, changed }: SiteChanges['channels'], renewed: readonly string[]): SiteChanges['channels'] {
  return { added, changed: [...new Set([...changed, ...renewed])] };
}

function notifyIssues({ channels }: SiteChange, { notify }: ServiceLimits): string[] {
  const channel = notify.mqtt?.channel;
  if (channel === undefined || !channels.changed.includes(channel)) return [];
  return [`channel ${channel} carries the notifications of alarms: restart the service to change it`];
}

/** Tasks were commissioned against the points as they were. */
function processingIssues(config: ServiceConfig, next: Site, configuration: ReadConfiguration | null): string[] {
  if (configuration === null) return [];
  try {
    if (sameData(readProcessing(config, next), configuration)) return [];
    return ['data processing has changed, or points that it reads: restart the service to apply that'];
  } catch (error) {
    return linesOf(error);
  }
}

/** Files and variables that the channels name are read. */
function prepare(
  role: EngineRole,
  next: Site,
): { readonly ready: Prepared | null; readonly issues: readonly string[] } {
  try {
    return { ready: role.prepare(next), issues: [] };
  } catch (error) {
    return { ready: null, issues: linesOf(error) };
  }
}

function linesOf(error: unknown): string[] {
  return (error instanceof Error ? error.message : String(error)).split('\n');
}
