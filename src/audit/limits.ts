/** Limits of the audit [platform §2.4], [audit §4]; the section `audit` of service.yaml. */
import type { Static } from 'typebox';
import { defaultsOf, limit } from '../base/limits.ts';
import { strict } from '../base/schema.ts';

export const auditLimitsSchema = strict({
  waiting_appends_max: limit(10_000, [1, 1_000_000], 'appends that may wait for the next commit'),
  batch_max: limit(500, [1, 10_000], 'events in one transaction'),
  checkpoint_events: limit(1000, [1, 1_000_000], 'events after which a checkpoint is signed'),
  checkpoint_interval_ms: limit(600_000, [1000, 86_400_000], 'time after which new events are covered by a checkpoint'),
  checkpoint_max_age_ms: limit(
    600_000,
    [1000, 86_400_000],
    'time after which a checkpoint is written and shown to witnesses again, also when nothing happened',
  ),
  witness_timeout_ms: limit(10_000, [100, 60_000], 'time that a witness has for its answer'),
  full_check_interval_ms: limit(
    86_400_000,
    [60_000, 604_800_000],
    'time between two checks of every stored event while the service runs',
  ),
  retention_days: limit(0, [0, 36_500], 'age at which events are removed; 0 keeps everything'),
  retention_interval_ms: limit(3_600_000, [1000, 86_400_000], 'interval at which expired events are removed'),
  retention_batch: limit(1000, [1, 100_000], 'events removed in one transaction'),
  access_events_max: limit(
    0,
    [0, 1_000_000_000],
    'searches kept in the access log of a tenant and project, about 1 kB each; 0 keeps everything',
  ),
  scan_window: limit(
    5000,
    [1, 1_000_000],
    'events that a search with several filters reads before it yields to other work',
  ),
});

export type AuditLimits = Static<typeof auditLimitsSchema>;

export const auditLimits: AuditLimits = defaultsOf(auditLimitsSchema);
