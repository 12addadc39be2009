/** Checkpoints (C2SP tlog-checkpoint): origin, size and root of a tree, as the text of a signed note. */
import { fromBase64, toBase64 } from './base64.ts';
import { hashBytes } from './hashing.ts';
import { isKeyName } from './signed-note.ts';

export interface TreeHead {
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
}

/** Longest origin in bytes, which every reader of checkpoints accepts. */
export const originBytesMax = 255;

export function isOrigin(origin: string): boolean {
  return isKeyName(origin) && new TextEncoder().encode(origin).length <= originBytesMax;
}

/** A size or an index: decimal, without leading zeros. */
export function parseWhole(text: string | undefined): number | null {
  if (text === undefined || !/^(0|[1-9][0-9]{0,15})$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

export function checkpointText({ origin, size, root }: TreeHead): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`;
}

/** Null for a text that is not a checkpoint. Lines after the third (extensions) are ignored. */
export function parseCheckpoint(text: string): TreeHead | null {
  const [origin = '', sizeText, rootText = '', ...rest] = text.split('\n');
  const size = parseWhole(sizeText);
  const root = fromBase64(rootText);
  if (origin === '' || size === null || root?.length !== hashBytes || rest.at(-1) !== '') return null;
  if (rest.slice(0, -1).includes('')) return null;
  return { origin, size, root };
}
