/**
 * Earlier fits, by the digest of their input [processor §7]. A fit depends on nothing else, so an answer with the cache equals
 * the answer without it. Bounded by bytes; the least recently used fit is evicted.
 */
import { createHash } from 'node:crypto';
import type { Sample } from '../sample.ts';

export interface FitCache<Fit> {
  recall(part: Sample, make: () => Fit): Fit;
  readonly size: number;
}

/**
 * The assumed size of a fit: its trees, and columns beside those of the sample. Measured from 1.7 MB (a load alone, 41 KB) to
 * 18.4 MB (twelve covariates over twenty months, 1.5 MB, a month ahead); this is above all of it.
 */
const fitBytesFixed = 4_194_304;
const fitBytesPerSampleByte = 24;

export function fitBytes(part: Sample): number {
  return fitBytesFixed + fitBytesPerSampleByte * sampleBytes(part);
}

export function fitCache<Fit>(bytesMax: number): FitCache<Fit> {
  const kept = new Map<string, { readonly fit: Fit; readonly bytes: number }>();
  let bytes = 0;

  const drop = (key: string): void => {
    bytes -= kept.get(key)?.bytes ?? 0;
    kept.delete(key);
  };

  return {
    get size() {
      return kept.size;
    },

    recall(part, make) {
      const key = sampleDigest(part);
      const known = kept.get(key);
      if (known !== undefined) {
        // A Map keeps the order of insertion: the most recently used is the last.
        kept.delete(key);
        kept.set(key, known);
        return known.fit;
      }
      const entry = { fit: make(), bytes: fitBytes(part) };
      if (entry.bytes > bytesMax) return entry.fit;
      kept.set(key, entry);
      bytes += entry.bytes;
      for (const oldest of kept.keys()) {
        if (bytes <= bytesMax) break;
        drop(oldest);
      }
      return entry.fit;
    },
  };
}

function sampleBytes({ target, covariates }: Sample): number {
  return covariates.reduce((sum, { values }) => sum + values.byteLength, target.byteLength);
}

/** Everything that a sample contains, value by value. */
export function sampleDigest(sample: Sample): string {
  const { target, covariates, ...rest } = sample;
  const names = covariates.map(({ name, values }) => [name, values.length]);
  const hash = createHash('sha256').update(
    JSON.stringify([Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)), target.length, names]),
  );
  for (const values of [target, ...covariates.map((each) => each.values)])
    hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  return hash.digest('hex');
}
