/** The state of a witness [audit §9.6], in one file: its key, and the last checkpoint that it cosigned of each log. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import Type from 'typebox';
import { decoder } from '../base/decode.ts';
import { readOrMake, replaceDurably } from '../base/own-file.ts';
import { strict } from '../base/schema.ts';
import { parseCheckpoint, type TreeHead } from '../transparency/checkpoint.ts';
import { parseNote } from '../transparency/signed-note.ts';

const schema = strict({
  schema: Type.Literal('svc.witness-state.v1'),
  key: Type.String(),
  /** The cosigned note, by origin. */
  logs: Type.Record(Type.String(), Type.String()),
});
const decode = decoder(schema);

export class WitnessState {
  readonly #file: string;
  readonly #key: string;
  readonly #notes: Map<string, string>;
  readonly keys: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };

  /** Reads the file, or makes it with a new key. Throws an Error that names the file when it is damaged. */
  constructor(file: string) {
    const text = readOrMake(file, () => {
      const { privateKey } = generateKeyPairSync('ed25519');
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return JSON.stringify({ schema: 'svc.witness-state.v1', key, logs: {} });
    });
    const damaged = `${file} is not the state of a witness: restore it from a backup`;
    const value = decode(parsed(text, damaged));
    if (!value.ok) throw new Error(damaged);
    this.#file = file;
    this.#key = value.value.key;
    this.#notes = new Map(Object.entries(value.value.logs));
    for (const note of this.#notes.values()) if (headOf(note) === null) throw new Error(damaged);
    try {
      const privateKey = createPrivateKey(this.#key);
      this.keys = { privateKey, publicKey: createPublicKey(privateKey) };
    } catch (cause) {
      throw new Error(damaged, { cause });
    }
  }

  /** The last cosigned head of a log; null when none was seen. */
  last(origin: string): TreeHead | null {
    const note = this.#notes.get(origin);
    return note === undefined ? null : headOf(note);
  }

  note(origin: string): string | null {
    return this.#notes.get(origin) ?? null;
  }

  /** On disk when this returns; when it throws, nothing has changed. */
  store(origin: string, note: string): void {
    const notes = new Map(this.#notes).set(origin, note);
    const logs = Object.fromEntries(notes);
    replaceDurably(this.#file, JSON.stringify({ schema: 'svc.witness-state.v1', key: this.#key, logs }));
    this.#notes.set(origin, note);
  }
}

function headOf(text: string): TreeHead | null {
  const note = parseNote(text);
  return note === null ? null : parseCheckpoint(note.text);
}

function parsed(text: string, damaged: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(damaged, { cause });
  }
}
