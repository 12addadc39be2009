/** The receivers of alarms with their secrets, for the service and for `setpoint site test-receivers`. */
import { type Notification, sendHeartbeat, sendNotification } from '../alarms/notify/send.ts';
import { heartbeatTarget, type NotifyTarget, notifyTargets } from '../alarms/notify/targets.ts';
import { systemClock } from '../base/clock.ts';
import { timeLabel } from '../base/timestamp.ts';
import { mqttCredentials } from '../devices/materials.ts';
import type { MqttChannel } from '../site/protocol/mqtt.ts';
import type { Site } from '../site/site.ts';
import { readLimits, readSiteFile, type ServiceConfig, type ServiceLimits } from './config.ts';
import { orStartError } from './start-error.ts';

interface Receivers {
  readonly targets: readonly NotifyTarget[];
  /** Throws an Error with the reason if it was not accepted. */
  readonly send: (target: NotifyTarget, notification: Notification) => Promise<void>;
  /** Null without a monitor. */
  readonly heartbeat: { readonly shown: string; readonly send: () => Promise<void> } | null;
}

type ReceiverConfig = Pick<ServiceConfig, 'configDir' | 'dataDir' | 'env'>;

/** Throws an Error with every error in the `notify` settings. */
export function receiversOf(
  { configDir, dataDir, env }: ReceiverConfig,
  { notify, alarms }: ServiceLimits,
  site: Site,
): Receivers {
  const secrets = { configDir, dataDir, secret: (name: string) => env[name] };
  const targets = notifyTargets(notify, site, env);
  const credentials = (channel: MqttChannel) => mqttCredentials(channel, secrets);
  // A file or variable that is missing stops the start, not the first notification.
  for (const target of targets) if (target.kind === 'mqtt') credentials(target.channel);
  const parts = { clock: systemClock, timeoutMs: alarms.notify_timeout_ms, credentials };
  const monitor = heartbeatTarget(notify, env);
  return {
    targets,
    send: (target, notification) => sendNotification(target, notification, parts),
    heartbeat: monitor && { shown: monitor.shown, send: () => sendHeartbeat(monitor, parts) },
  };
}

/** Sends a notification about no alarm of the site to each receiver, and a heartbeat; why a receiver did not accept it, or null. */
export async function testReceivers(
  config: ReceiverConfig,
): Promise<{ readonly receiver: string; readonly problem: string | null }[]> {
  const site = readSiteFile(config.configDir);
  const { targets, send, heartbeat } = orStartError(() => receiversOf(config, readLimits(config.configDir), site));
  const notification: Notification = {
    alarm: 'notification-test',
    state: 'normal',
    site: site.id,
    at: timeLabel(systemClock.wallMs()),
    name: 'Test of notifications',
    priority: 'low',
    message: 'Sent by setpoint site test-receivers.',
  };
  const tries = targets.map((target) => ({ receiver: target.shown, sent: send(target, notification) }));
  if (heartbeat !== null) tries.push({ receiver: heartbeat.shown, sent: heartbeat.send() });
  return Promise.all(
    tries.map(async ({ receiver, sent }) => {
      const problem = await sent.then(
        () => null,
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      );
      return { receiver, problem };
    }),
  );
}
