/**
 * The artifact of an answer [processor §3]: family, version and a digest of the code, which contains every parameter
 * of the models. Forecasters with equal digests give equal answers.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ArtifactRef, UsedArtifact } from '../../api/processing.ts';

const sources = fileURLToPath(new URL('..', import.meta.url));

export function forecasterArtifact(version: string): UsedArtifact {
  return { kind: 'model', family: 'setpoint-forecaster', version, artifact_digest: sourceDigest(sources) };
}

/** Of names and contents of the source files below `folder`, without tests, in an order that does not depend on the file system. */
export function sourceDigest(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .sort();
  const hash = createHash('sha256');
  for (const name of names) {
    const content = readFileSync(join(folder, name));
    hash.update(`${name}\0${content.byteLength}\0`).update(content);
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Whether `own` is what a request selects: kind and family, and any other pinned members [processor §2]. */
export function isSelected(asked: ArtifactRef, own: UsedArtifact): boolean {
  if (asked.kind !== own.kind || asked.family !== own.family) return false;
  const fits = (pinned: string | undefined, has: string): boolean => pinned === undefined || pinned === has;
  return fits(asked.version, own.version) && fits(asked.artifact_digest, own.artifact_digest);
}
