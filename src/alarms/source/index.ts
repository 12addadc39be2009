/** The sources of alarms, in the order in which they are checked: the first that occurs is the first-out. */
import type { Site } from '../../site/site.ts';
import { auditAlarms } from './audit.ts';
import { backupAlarms } from './backups.ts';
import { certificateAlarms } from './certificates.ts';
import { channelAlarms } from './channels.ts';
import { commandAlarms } from './commands.ts';
import { configurationAlarms } from './configuration.ts';
import { engineAlarms } from './engine.ts';
import { forecastAlarms } from './forecasts.ts';
import { inputAlarms } from './inputs.ts';
import { namedPoints } from './named-points.ts';
import { notificationAlarms } from './notifications.ts';
import { overrideAlarms } from './overrides.ts';
import { ruleAlarms } from './rules.ts';
import { severalMachinesAlarms } from './several-machines.ts';
import { sitePointAlarms } from './site-points.ts';
import type { AlarmSource } from './source.ts';
import { storageAlarms } from './storage.ts';
import { unrunnableRuleAlarms } from './unrunnable-rules.ts';

export function alarmSources(site: Pick<Site, 'alarms' | 'channels' | 'instances' | 'points'>): readonly AlarmSource[] {
  const { alarms, channels, points } = site;
  const find = namedPoints(site);
  return [
    channelAlarms(channels),
    inputAlarms(find),
    commandAlarms(find),
    sitePointAlarms(alarms, points),
    storageAlarms,
    backupAlarms,
    configurationAlarms,
    certificateAlarms,
    notificationAlarms,
    forecastAlarms,
    auditAlarms,
    engineAlarms,
    severalMachinesAlarms,
    ruleAlarms,
    unrunnableRuleAlarms,
    overrideAlarms,
  ];
}
