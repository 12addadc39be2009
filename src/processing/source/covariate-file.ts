/**
 * Covariate runs from a file that is read and validated at each call [data-processing §4.8], never beyond its
 * byte limit. A missing or invalid file makes only this call unavailable.
 */
import { constants } from 'node:fs';
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
      if (error instanceof CovariateRunError) throw covariateUnavailable(dataset, error.message, error);
      throw error;
    }
  },
};

export function covariateUnavailable(dataset: string, reason: string, cause?: unknown): Fault {
  return new Fault('source-unavailable', `the covariate runs of ${dataset} cannot be used`, {
    details: { dataset, reason },
    cause,
  });
}

async function readBounded(path: string, bytesMax: number, signal: AbortSignal, dataset: string): Promise<string> {
  let bytes: Uint8Array | null;
  try {
    bytes = await bytesOf(path, bytesMax, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    // The system's own words name the path.
    throw covariateUnavailable(dataset, 'the file is missing or cannot be read', error);
  }
  if (bytes === null) throw covariateUnavailable(dataset, `the file is larger than ${bytesMax} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw covariateUnavailable(dataset, 'the file is not UTF-8 text', error);
  }
}

/** Null when there are more; one byte more than allowed is asked for, whatever size the file claims to have. */
async function bytesOf(path: string, bytesMax: number, signal: AbortSignal): Promise<Uint8Array | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    // A pipe or a device could give bytes for ever, or none.
    if (!(await file.stat()).isFile()) throw new Error('not a file');
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (;;) {
      signal.throwIfAborted();
      const chunk = new Uint8Array(Math.min(65_536, bytesMax + 1 - size));
      const { bytesRead } = await file.read(chunk, 0, chunk.length);
      if (bytesRead === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, bytesRead));
      size += bytesRead;
      if (size > bytesMax) return null;
    }
  } finally {
    await file.close();
  }
}
