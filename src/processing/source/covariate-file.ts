/**
 * Covariate runs from a file that is read and validated at each call (decisions §4 "Covariates"), never beyond its
 * byte limit. A missing or invalid file makes only this call unavailable.
 */
import { open } from 'node:fs/promises';
import { Fault } from '../../base/fault.ts';
import type { RunSource } from '../commission/commissioned.ts';
import { type CovariateRun, CovariateRunError, parseCovariateRuns } from './covariate-run.ts';

export interface CovariateAdapter {
  read(
    source: Pick<RunSource, 'dataset' | 'path' | 'maxFileBytes'>,
    signal: AbortSignal,
  ): Promise<readonly CovariateRun[]>;
}

export const covariateFiles: CovariateAdapter = {
  async read({ dataset, path, maxFileBytes }, signal) {
    signal.throwIfAborted();
    const text = await readBounded(path, maxFileBytes, signal, dataset);
    try {
      return parseCovariateRuns(text);
    } catch (error) {
      if (error instanceof CovariateRunError) throw unavailable(dataset, error.message, error);
      throw error;
    }
  },
};

export function unavailable(dataset: string, reason: string, cause?: unknown): Fault {
  return new Fault('source-unavailable', `the covariate runs of ${dataset} cannot be used`, {
    details: { dataset, reason },
    cause,
  });
}

/** One byte more than allowed is asked for: whoever gets it knows that the file is too large, whatever it claimed. */
async function readBounded(path: string, bytesMax: number, signal: AbortSignal, dataset: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    await using file = await open(path, 'r');
    if (!(await file.stat()).isFile()) throw unavailable(dataset, 'there is no such file');
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (let done = false; !done; ) {
      signal.throwIfAborted();
      const chunk = new Uint8Array(Math.min(65_536, bytesMax + 1 - size));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      chunks.push(chunk.subarray(0, bytesRead));
      size += bytesRead;
      done = bytesRead === 0 || size > bytesMax;
    }
    if (size > bytesMax) throw unavailable(dataset, `the file is larger than ${bytesMax} bytes`);
    bytes = Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof Fault || signal.aborted) throw error;
    // The system's own words name the path.
    throw unavailable(dataset, 'the file is missing or cannot be read', error);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw unavailable(dataset, 'the file is not UTF-8 text', error);
  }
}
