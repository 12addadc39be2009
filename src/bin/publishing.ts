/** Publishing to brokers of the site [points §3.5], bound to the parts of this process. */
import type { RuleStore } from '../automation/store/rule-store.ts';
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/log.ts';
import type { EngineRole } from '../cluster/engine-role.ts';
import type { MqttCredentials } from '../devices/driver/mqtt.ts';
import { mqttCredentials } from '../devices/materials.ts';
import { MqttOutlet } from '../devices/mqtt/mqtt-outlet.ts';
import { homeAssistantStatusTopic, publishedFilters } from '../operator/home-assistant.ts';
import { HomeAssistantPublisher } from '../operator/home-assistant-publisher.ts';
import type { TableSample } from '../points/sample.ts';
import type { MqttChannel } from '../site/protocol/mqtt.ts';
import { sameData } from '../site/site-change.ts';
import type { ReadSite } from '../site/site-in-force.ts';
import type { ServiceConfig, ServiceLimits } from './config.ts';

export interface PublishingSetup {
  readonly config: ServiceConfig;
  readonly limits: ServiceLimits;
  readonly site: ReadSite;
  readonly role: EngineRole;
  readonly store: RuleStore;
  readonly sample: () => Promise<TableSample | null>;
  readonly log: Log;
}

export interface Publishing {
  /** Goes on with the channels of the site as it is now; without a change they keep their connections. */
  renew(): Promise<void>;
  stop(): Promise<void>;
}

/** One publisher for each channel that publishes. Throws an Error with one line for the operator. */
export function startPublishing(setup: PublishingSetup): Publishing {
  let outlets = publishingOutlets(setup);
  let publishers = outlets.map((outlet) => publisherOf(setup, outlet));
  const stop = async (): Promise<void> => {
    await Promise.all(publishers.map((publisher) => publisher.stop()));
  };
  return {
    async renew() {
      const now = publishingOutlets(setup);
      if (sameData(outlets, now)) return;
      await stop();
      outlets = now;
      publishers = now.map((outlet) => publisherOf(setup, outlet));
    },
    stop,
  };
}

interface PublishingOutlet {
  readonly channel: MqttChannel;
  readonly credentials: MqttCredentials;
}

/** The channels that publish, with their secrets and certificates. */
function publishingOutlets({ config, site }: PublishingSetup): PublishingOutlet[] {
  const secrets = { configDir: config.configDir, dataDir: config.dataDir, secret: (name: string) => config.env[name] };
  return site()
    .channels.filter((channel) => channel.driver === 'mqtt')
    .filter(({ publish }) => publish !== undefined)
    .map((channel) => ({ channel, credentials: mqttCredentials(channel, secrets) }));
}

function publisherOf({ limits, site, role, store, sample, ...rest }: PublishingSetup, own: PublishingOutlet) {
  const log = rest.log.with({ area: 'publishing' });
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
    ...own,
    statusTopic: homeAssistantStatusTopic(site()),
    filters: publishedFilters(site()),
    limits: limits.devices,
    clock: systemClock,
    log,
  };
  return new HomeAssistantPublisher(parts, (events) => new MqttOutlet({ ...outlet, events }));
}
