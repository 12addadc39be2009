/** Limits of the device layer; the section `devices` of service.yaml. */
import type { Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const deviceLimitsSchema = strict({
  command_max_age_ms: limit(1000, [1, 60_000], 'a command older than this is dropped, not sent'),
  reconnect_min_ms: limit(200, [10, 60_000], 'first wait before a channel is connected again'),
  reconnect_max_ms: limit(5000, [10, 600_000], 'longest wait before a channel is connected again'),
  restart_delay_ms: limit(
    200,
    [1, 60_000],
    'first wait before a dead device layer is started again; doubles each time',
  ),
  restart_max_ms: limit(10_000, [1, 600_000], 'longest wait before a dead device layer is started again'),
  stop_timeout_ms: limit(2000, [10, 10_000], 'time that the device layer gets to stop'),
  refusing_after_ms: limit(
    60_000,
    [100, 3_600_000],
    'time for which a device refuses every read, or every command, before its channel counts as refusing',
  ),
  unit_pause_max_ms: limit(
    60_000,
    [100, 3_600_000],
    'longest time for which a silent unit is not asked while other units of its channel answer',
  ),
  scan_timeout_ms: limit(60_000, [1000, 600_000], 'time that looking through a device may take'),
  trace_exchanges: limit(100, [1, 10_000], 'exchanges of each channel that are kept for its trace'),
  trace_payload_bytes: limit(256, [16, 65_536], 'bytes of a message that the trace of its channel shows'),
  mqtt_timeout_ms: limit(
    5000,
    [10, 60_000],
    'time that a broker gets to accept a connection, a subscription or a command',
  ),
  mqtt_in_flight: limit(16, [1, 1000], 'commands of one channel that a broker has not confirmed yet'),
  publish_interval_ms: limit(1000, [100, 3_600_000], 'how often points and rules are published that changed'),
  publish_in_flight: limit(500, [1, 10_000], 'published messages that a broker has not confirmed yet'),
  mqtt_payload_bytes: limit(65_536, [1, 1_048_576], 'payload of one message; a larger one is a bad value'),
});

export type DeviceLimits = Static<typeof deviceLimitsSchema>;

export const deviceLimits: DeviceLimits = defaultsOf(deviceLimitsSchema);
