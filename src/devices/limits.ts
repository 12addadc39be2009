/** Limits of the device layer; the section `devices` of service.yaml. */
import Type, { type Static } from 'typebox';

export const deviceLimitsSchema = Type.Object(
  {
    command_max_age_ms: Type.Integer({
      minimum: 1,
      maximum: 60_000,
      default: 1000,
      description: 'a command older than this is dropped, not sent',
    }),
    reconnect_min_ms: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 200,
      description: 'first wait before a channel is connected again',
    }),
    reconnect_max_ms: Type.Integer({
      minimum: 10,
      maximum: 600_000,
      default: 5000,
      description: 'longest wait before a channel is connected again',
    }),
    restart_delay_ms: Type.Integer({
      minimum: 1,
      maximum: 60_000,
      default: 200,
      description: 'first wait before a dead device layer is started again; doubles each time',
    }),
    restart_max_ms: Type.Integer({
      minimum: 1,
      maximum: 600_000,
      default: 10_000,
      description: 'longest wait before a dead device layer is started again',
    }),
    stop_timeout_ms: Type.Integer({
      minimum: 10,
      maximum: 10_000,
      default: 2000,
      description: 'time that the device layer gets to stop',
    }),
    refusing_after_ms: Type.Integer({
      minimum: 100,
      maximum: 3_600_000,
      default: 60_000,
      description:
        'time for which a device refuses every read, or every command, before its channel counts as refusing',
    }),
    mqtt_timeout_ms: Type.Integer({
      minimum: 10,
      maximum: 60_000,
      default: 5000,
      description: 'time that a broker gets to accept a connection, a subscription or a command',
    }),
    mqtt_in_flight: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 16,
      description: 'commands of one channel that a broker has not confirmed yet',
    }),
    mqtt_payload_bytes: Type.Integer({
      minimum: 1,
      maximum: 1_048_576,
      default: 65_536,
      description: 'payload of one message; a larger one is a bad value',
    }),
  },
  { additionalProperties: false },
);

export type DeviceLimits = Static<typeof deviceLimitsSchema>;

export const deviceLimits: DeviceLimits = {
  command_max_age_ms: 1000,
  reconnect_min_ms: 200,
  reconnect_max_ms: 5000,
  restart_delay_ms: 200,
  restart_max_ms: 10_000,
  stop_timeout_ms: 2000,
  refusing_after_ms: 60_000,
  mqtt_timeout_ms: 5000,
  mqtt_in_flight: 16,
  mqtt_payload_bytes: 65_536,
};
