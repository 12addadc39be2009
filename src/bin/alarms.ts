/** Creates the alarms of this process. */
import { statfs } from 'node:fs/promises';
import { createAlarmFeed } from '../alarms/alarm-feed.ts';
import { alarmCapabilities } from '../alarms/capabilities.ts';
import { AlarmKeeper } from '../alarms/keeper.ts';
import { startHeartbeat } from '../alarms/notify/heartbeat.ts';
import { Notifier } from '../alarms/notify/notifier.ts';
import { SiteViewer, type SiteViewerParts } from '../alarms/site-viewer.ts';
import { alarmSources } from '../alarms/source/index.ts';
import { createAlarmStore } from '../alarms/store/alarm-store.ts';
import type { RuleStore } from '../automation/store/rule-store.ts';
import { systemClock, type Timer } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { EngineRole } from '../cluster/engine-role.ts';
import { lastBackupMs } from '../databases/kept-backups.ts';
import type { KnownCertificate } from '../devices/mqtt/certificates.ts';
import type { TableSample } from '../points/sample.ts';
import { madeOfSite, type ReadSite } from '../site/site-in-force.ts';
import type { Database } from '../storage/database.ts';
import type { RetentionTime } from '../storage/retention-clock.ts';
import type { ServiceConfig, ServiceLimits } from './config.ts';
import { ConfigurationWatch } from './configuration-watch.ts';
import { receiversOf } from './receivers.ts';

export interface AlarmSetup {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: ReadSite;
  readonly database: Database;
  readonly retention: RetentionTime;
  readonly role: EngineRole;
  readonly rules: RuleStore;
  readonly sample: () => Promise<TableSample | null>;
  readonly auditBroken: () => string | null;
  readonly silentWitnesses: SiteViewerParts['silentWitnesses'];
  readonly auditWritable: () => Promise<boolean>;
  readonly historyStored: SiteViewerParts['historyStored'];
  readonly failedForecasts: SiteViewerParts['failedForecasts'];
  readonly log: Log;
}

export type ServiceAlarms = ReturnType<typeof serviceAlarms>;

/** Throws an Error with every error in the `notify` settings. */
export function serviceAlarms(setup: AlarmSetup) {
  const { config, limits, site, database, role, rules, sample, auditBroken, auditWritable } = setup;
  const log = setup.log.with({ area: 'alarms' });
  const store = createAlarmStore(database);
  const common = { store, controls: () => role.controls(), clock: systemClock, log, limits: limits.alarms };
  const configuration = new ConfigurationWatch(config, () => site().channels, log);
  const viewer = new SiteViewer({
    clock: systemClock,
    limits: limits.alarms,
    sample,
    channels: () => role.devices.channels(),
    pointErrors: () => role.devices.errors(),
    certificates: () => [...role.devices.certificates(), ...serverCertificate(database)],
    engine: role.engine,
    rules,
    standbyMissing: () => role.standbyMissing(),
    clockAheadMs: () => role.clockAheadMs(),
    auditBroken,
    silentWitnesses: setup.silentWitnesses,
    failingReceivers: () => notifier.failing(),
    auditWritable,
    commit: () => database.commitNothing(),
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(config.dataDir);
      return bavail * bsize;
    },
    historyStored: setup.historyStored,
    failedForecasts: setup.failedForecasts,
    lastBackupMs: () => lastBackupMs(config.dataDir),
    configurationValid: () => configuration.isValid(),
  });
  const keeper = new AlarmKeeper({
    ...common,
    retention: setup.retention,
    sources: madeOfSite(site, alarmSources),
    view: () => viewer.view(),
    shared: config.databaseUrl !== null,
  });
  const { heartbeat, ...receivers } = receiversOf(config, limits, site());
  const notifier = new Notifier({
    ...common,
    ...receivers,
    alarm: (id) => keeper.list().find((alarm) => alarm.id === id),
    site: site().id,
  });
  let beating: Timer | undefined;
  return {
    capabilities: alarmCapabilities({ keeper, store, clock: systemClock }),
    feed: createAlarmFeed(keeper, systemClock),
    list: () => keeper.list(),
    async open(): Promise<void> {
      await keeper.open();
      keeper.onChange(() => notifier.wake());
      notifier.open();
      if (heartbeat !== null)
        beating = startHeartbeat({ ...common, send: heartbeat.send, watches: () => keeper.watches() });
    },
    async stop(): Promise<void> {
      beating?.cancel();
      notifier.stop();
      await keeper.stop();
    },
  };
}

function serverCertificate(database: Pick<Database, 'certificate'>): KnownCertificate[] {
  const validity = database.certificate();
  return validity === null ? [] : [{ what: 'the certificate of the database server', validity }];
}
