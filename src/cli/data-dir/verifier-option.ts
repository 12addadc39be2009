/** A public key as an option of a command: of a log or of a witness [audit §9]. */
import { type KeyType, keyTypes, parseVerifier, type Verifier } from '../../transparency/signed-note.ts';
import { nodeCryptography } from '../../transparency/signing.ts';
import { CommandError, exitCodes } from '../exit.ts';

export async function verifierOf(vkey: string, type: KeyType, option: string): Promise<Verifier> {
  const verifier = await parseVerifier(vkey, nodeCryptography);
  if (verifier?.type === type) return verifier;
  const whose = type === keyTypes.log ? 'a log' : 'a witness';
  throw new CommandError(`${option} must be the key of ${whose}: name+8 hex digits+base64`, exitCodes.notConfirmed);
}

/**
 * The trusted public key of a trail, in base64url as checkpoints name it; also accepted as `audit key` prints it. Text
 * that is not a key would otherwise look like a failed verification of the trail.
 */
export async function believedKey(given: string): Promise<string> {
  if (isPublicKey(given)) return given;
  const verifier = await parseVerifier(given, nodeCryptography);
  if (verifier?.type === keyTypes.log) return Buffer.from(verifier.publicKey).toString('base64url');
  const forms = 'as `audit key` prints it, or the `key` of a checkpoint';
  throw new CommandError(`--key must be the key of a log: ${forms}`, exitCodes.notConfirmed);
}

/** 32 bytes: a raw Ed25519 public key. */
function isPublicKey(text: string): boolean {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === 32 && bytes.toString('base64url') === text;
}
