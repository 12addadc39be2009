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
