/** What is published to brokers of the site [points §3.5], bound to what this process runs. */
import type { RuleStore } from '../automation/store/rule-store.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { EngineRole } from '../cluster/engine-role.ts';
import { mqttCredentials } from '../devices/materials.ts';
import { MqttOutlet } from '../devices/mqtt/mqtt-outlet.ts';
import { homeAssistantStatusTopic } from '../operator/home-assistant.ts';
import { HomeAssistantPublisher } from '../operator/home-assistant-publisher.ts';
import type { TableSample } from '../points/sample.ts';
import type { Site } from '../site/site.ts';
import type { ServiceConfig, ServiceLimits } from './config.ts';

export interface PublishingSetup {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: Site;
  readonly role: EngineRole;
  readonly store: RuleStore;
  readonly sample: () => Promise<TableSample | null>;
  readonly log: Log;
}

/** One for each channel that publishes. Throws an Error with one line for the operator. */
export function startPublishing(setup: PublishingSetup): HomeAssistantPublisher[] {
  const { config, limits, site, role, store, sample } = setup;
  const log = setup.log.with({ area: 'publishing' });
  const secrets = { configDir: config.configDir, dataDir: config.dataDir, secret: (name: string) => config.env[name] };
  return site.channels.flatMap((channel) => {
    if (channel.driver !== 'mqtt' || channel.publish === undefined) return [];
    const parts = {
      site,
      sample,
      devices: role.devices,
      engine: role.engine,
      store,
      controls: () => role.controls(),
      intervalMs: limits.devices.publish_interval_ms,
      clock: systemClock,
      log,
    };
    const outlet = {
      channel,
      credentials: mqttCredentials(channel, secrets),
      statusTopic: homeAssistantStatusTopic(site),
      limits: limits.devices,
      clock: systemClock,
      log,
    };
    return [new HomeAssistantPublisher(parts, (onConnect) => new MqttOutlet({ ...outlet, onConnect }))];
  });
}
