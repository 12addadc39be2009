/**
 * The source of recorded features [data-processing §4.2]: one call reads every window of a request in one snapshot.
 * An adapter that cannot read throws Fault `source-unavailable`; a later call may recover.
 */
import type { WindowAnswer, WindowRequest } from '../../historian/historian.ts';

/** A window, and the name of the series in an upstream store. */
export interface SeriesWindow extends WindowRequest {
  readonly sourceRef: string;
}

export interface HistoryAdapter {
  /** Answers in the order of the windows. */
  read(windows: readonly SeriesWindow[], signal: AbortSignal): Promise<readonly WindowAnswer[]>;
}
