/** The input of alarms [alarms §2]: the site at one moment. An unavailable part is null and changes no alarm. */
import type { RuleFailureCode } from '../automation/engine-contract.ts';
import type { RuleTrouble } from '../automation/rule-troubles.ts';
import type { ChannelState } from '../devices/device-layer.ts';
import type { endingSoon } from '../devices/mqtt/certificates.ts';
import type { TableSample } from '../points/sample.ts';
import type { Grant } from '../rules/authority.ts';
import type { PointRef } from '../site/catalogue.ts';

/** A receiver of notifications that did not accept the last one it was sent. */
export interface FailingReceiver {
  /** As logs name it. */
  readonly receiver: string;
  readonly reason: string;
}

interface UnrunnableRule {
  readonly rule_id: number;
  readonly name: string;
  readonly code: RuleFailureCode;
}

export interface SiteNow {
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  readonly sample: TableSample | null;
  readonly channels: readonly { readonly id: string; readonly state: ChannelState }[];
  /** Certificates of channels and of the database server that end within `certificate_notice_ms`; null while none does and some are not known. */
  readonly endingCertificates: ReturnType<typeof endingSoon> | null;
  /** Rules whose last runs all failed or were all skipped, with their names. */
  readonly troubles: readonly (RuleTrouble & { readonly name: string })[] | null;
  /** Enabled rules that cannot run, with their names. */
  readonly unrunnable: readonly UnrunnableRule[] | null;
  /** Points without a usable value that enabled rules read: the number of these rules, and the names of the first. */
  readonly unusableInputs:
    | readonly { readonly point: PointRef; readonly rules: number; readonly names: readonly string[] }[]
    | null;
  /** Action points whose last command was not carried out. */
  readonly failedCommands: readonly PointRef[] | null;
  /** The last error of points, by position in the site; read only while a command has failed. */
  readonly pointErrors: ReadonlyMap<number, string>;
  readonly grants: readonly Grant[] | null;
  /** When the engine was last restarted. */
  readonly engineRestartedMs: number | null;
  /** Share of its ticks that the engine missed lately; null while that is not known. */
  readonly missedTicks: number | null;
  /** When records of executions were last lost. */
  readonly executionsLostMs: number | null;
  /** Whether no process is left that could take over, of those that were connected; null while that is not known. */
  readonly standbyMissing: boolean | null;
  /** How far this machine's clock is ahead of the database server's; null without a server, and before the first measurement. */
  readonly clockAheadMs: number | null;
  /** The first chain of the audit log that does not extend its signed head, with place and reason; null if all do. */
  readonly auditBroken: string | null;
  /** Witnesses that did not cosign the last head of the audit log, with the reason. */
  readonly silentWitnesses: readonly { readonly witness: string; readonly reason: string }[];
  /** Forecasts whose last scheduled run failed; null while none failed and some have not run. */
  readonly failedForecasts:
    | readonly { readonly task: string; readonly binding: string; readonly reason: string }[]
    | null;
  /** Null until each receiver has been sent what waits for it. */
  readonly failingReceivers: readonly FailingReceiver[] | null;
  readonly probes: Probes;
}

/** Before the first check. */
export const noProbes: Probes = {
  auditWritable: null,
  storageSlow: null,
  freeBytes: null,
  historyStored: null,
  backup: null,
  configurationValid: null,
};

/** An empty view. */
export const unseen: SiteNow = {
  nowMs: 0,
  sample: null,
  channels: [],
  endingCertificates: null,
  troubles: null,
  unrunnable: null,
  unusableInputs: null,
  failedCommands: null,
  pointErrors: new Map(),
  grants: null,
  engineRestartedMs: null,
  missedTicks: null,
  executionsLostMs: null,
  standbyMissing: null,
  clockAheadMs: null,
  auditBroken: null,
  silentWitnesses: [],
  failedForecasts: null,
  failingReceivers: null,
  probes: noProbes,
};

interface LastBackup {
  /** Null if none is known of. */
  readonly lastMs: number | null;
  /** Never where `backup_overdue_ms` is 0. */
  readonly isOverdue: boolean;
}

/** Null until the first check has ended. */
export interface Probes {
  readonly auditWritable: boolean | null;
  /** The last commits all took longer than the limit, or failed. */
  readonly storageSlow: boolean | null;
  readonly freeBytes: number | null;
  /** Whether the last attempt to store recorded values succeeded. */
  readonly historyStored: boolean | null;
  readonly backup: LastBackup | null;
  /** Whether the service would start again with the files of its configuration. */
  readonly configurationValid: boolean | null;
}
