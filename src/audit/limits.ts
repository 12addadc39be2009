/** Limits of the audit (decisions §1 "Limits", §3); the section `audit` of service.yaml. */
import Type, { type Static } from 'typebox';

export const auditLimitsSchema = Type.Object(
  {
    waiting_appends_max: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 10_000,
      description: 'appends that may wait for the next commit',
    }),
    batch_max: Type.Integer({ minimum: 1, maximum: 10_000, default: 500, description: 'events in one transaction' }),
    checkpoint_events: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 1000,
      description: 'events after which a checkpoint is signed',
    }),
    checkpoint_interval_ms: Type.Integer({
      minimum: 1000,
      maximum: 86_400_000,
      default: 600_000,
      description: 'time after which new events are covered by a checkpoint',
    }),
    retention_days: Type.Integer({
      minimum: 0,
      maximum: 36_500,
      default: 0,
      description: 'age at which events are removed; 0 keeps everything',
    }),
    retention_interval_ms: Type.Integer({
      minimum: 1000,
      maximum: 86_400_000,
      default: 3_600_000,
      description: 'time between two looks for events that are too old',
    }),
    retention_batch: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      default: 1000,
      description: 'events removed in one transaction',
    }),
    access_events_max: Type.Integer({
      minimum: 0,
      maximum: 1_000_000_000,
      default: 0,
      description: 'searches kept in the access log of a tenant and project, about 1 kB each; 0 keeps everything',
    }),
    scan_window: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 5000,
      description: 'events that a search of several filters looks at before other work gets its turn',
    }),
  },
  { additionalProperties: false },
);

export type AuditLimits = Static<typeof auditLimitsSchema>;

export const auditLimits: AuditLimits = {
  waiting_appends_max: 10_000,
  batch_max: 500,
  checkpoint_events: 1000,
  checkpoint_interval_ms: 600_000,
  retention_days: 0,
  retention_interval_ms: 3_600_000,
  retention_batch: 1000,
  access_events_max: 0,
  scan_window: 5000,
};
