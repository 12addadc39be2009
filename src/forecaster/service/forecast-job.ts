/** The messages between the service and a forecasting thread: typed arrays, transferred and not copied. */
import type { Ask, ForecastAnswer } from '../forecast.ts';
import type { Sample } from '../sample.ts';

export interface ForecastJob {
  readonly sample: Sample;
  readonly ask: Ask;
}

/** `failed`: the models threw; the reason is for the log. */
export type ForecastReply =
  | { readonly outcome: 'forecast'; readonly answer: ForecastAnswer }
  | { readonly outcome: 'failed'; readonly reason: string };

export function buffersOfJob({ sample, ask }: ForecastJob): ArrayBuffer[] {
  const arrays = [sample.target, ask.probabilities, ...sample.covariates.map(({ values }) => values)];
  return buffersOf(arrays);
}

export function buffersOfAnswer({ value, quantiles }: ForecastAnswer): ArrayBuffer[] {
  return buffersOf([value, ...quantiles]);
}

/** Each buffer once; buffers shared between threads are not transferred. */
function buffersOf(arrays: readonly Float64Array[]): ArrayBuffer[] {
  return [...new Set(arrays.map(({ buffer }) => buffer))].filter((buffer) => buffer instanceof ArrayBuffer);
}
