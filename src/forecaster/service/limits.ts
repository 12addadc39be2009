/** The named limits of the forecaster as a service [processor §6.5], with unit and default. */
import { defaultServerLimits, type ServerLimits } from '../../processor-kit/server/limits.ts';

/**
 * Bytes of one request. The longest history that the contract allows (20000 labels) of 13 numeric features has up to
 * 9 MB: 17 digits and a quality word per cell.
 */
const requestBytesMax = 16_777_216;
/** Cells of one frame: those 20000 labels of 13 features, two months ahead, and a margin. */
const frameCellsMax = 400_000;

/** One forecast at a time in each worker: no request waits behind another, the excess is answered 429. */
export function forecasterLimits(workers: number): ServerLimits {
  return {
    ...defaultServerLimits,
    max_request_bytes: requestBytesMax,
    max_frame_cells: frameCellsMax,
    max_concurrency: workers,
  };
}

/** Days between the first and the last known value of the target: a week to look back over, and days to be scored. */
export const historyDaysMin = 10;
/** Share of the target's history, and of its newest week, that must be known. */
export const knownShareMin = 0.5;
/** Days without a value before `as_of` after which a history is too old to forecast from. */
export const silentDaysMax = 2;
/** A shorter history is used, with a warning: it shows few weeks. */
export const historyDaysComfortable = 28;

/** Time for all workers to start. */
export const workerStartMs = 30_000;
/** A value farther outside the middle 98% of a history than this many times its width is an outlier. */
export const outlierWidths = 10;
/** JavaScript heap of one worker; one that needs more is terminated and replaced. */
export const workerHeapMbMax = 1024;
/** Estimated bytes of the fits that one worker caches. */
export const fitCacheBytesMax = 268_435_456;
/** Series whose last worker is remembered, so that they find their fit in its cache. */
export const rememberedSeriesMax = 4096;
