/** `setpoint site check`: all errors in the files of a config dir, without a start and without a data dir. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { alarmLimits } from '../alarms/limits.ts';
import { heartbeatTarget, notifyTargets } from '../alarms/notify/targets.ts';
import { witnessPolicy } from '../audit/witness/settings.ts';
import { systemClock } from '../base/clock.ts';
import { timeLabel } from '../base/timestamp.ts';
import { quantity } from '../cli/terminal.ts';
import { readMaterials } from '../devices/materials.ts';
import { endingSoon, fileCertificates } from '../devices/mqtt/certificates.ts';
import { readConfiguration } from '../processing/commission/configuration.ts';
import type { Site } from '../site/site.ts';
import { holidayWarnings, siteWarnings } from '../site/site-warnings.ts';
import { readLimits, readSiteFile, refuseServerBackups } from './config.ts';
import type { Environment } from './environment.ts';
import { isForOperator } from './start-error.ts';

/** Faults prevent a start, warnings do not. */
export interface SiteCheck {
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
  readonly summary: string;
}

export async function checkSite(configDir: string, env: Environment): Promise<SiteCheck> {
  const faults: string[] = [];
  const warnings: string[] = [];
  /** An expected error of a step is a fault; anything else is a bug. */
  const step = async <T>(work: () => T | Promise<T>, isExpected = isForOperator): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!isExpected(error) || !(error instanceof Error)) throw error;
      faults.push(...error.message.split('\n'));
      return undefined;
    }
  };
  const limits = await step(() => readLimits(configDir));
  if (limits !== undefined) await step(() => witnessPolicy(limits.auditNames));
  const site = await step(() => readSiteFile(configDir));
  if (site !== undefined) {
    if (limits !== undefined) {
      await step(() => notifyTargets(limits.notify, site, env));
      await step(() => heartbeatTarget(limits.notify, env));
      await step(() => refuseServerBackups(limits, env['SVC_DATABASE_URL'] || null));
    }
    const materials = await step(
      () => readMaterials(site, { configDir, dataDir: configDir, secret: (name) => env[name] }),
      (error) => error instanceof Error,
    );
    faults.push(...processingFaults(configDir, site));
    const certificates = fileCertificates(site.channels, materials?.mqtt ?? new Map());
    const { certificate_notice_ms: noticeMs } = limits?.alarms ?? alarmLimits;
    const ending = endingSoon(certificates, noticeMs, systemClock.wallMs());
    warnings.push(
      ...siteWarnings(site),
      ...holidayWarnings(site, systemClock.wallMs()),
      ...ending.map(({ what, endMs }) => `${what} is valid until ${timeLabel(endMs)}`),
    );
  }
  return { faults, warnings, summary: site === undefined ? '' : summaryOf(site) };
}

function processingFaults(configDir: string, site: Site): string[] {
  const folder = join(configDir, 'processing');
  if (!existsSync(folder)) return [];
  const kept = { read: () => new Map<string, string>(), write: () => undefined };
  const found = readConfiguration(folder, configDir, site, kept);
  return found.ok ? [] : found.lines.map((line) => `processing/${line}`);
}

function summaryOf({ name, channels, instances, points }: Site): string {
  return `${name}: no errors (${quantity(channels.length, 'channel')}, ${quantity(instances.length, 'instance')}, ${quantity(points.length, 'point')})`;
}
