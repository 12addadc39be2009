/** The page that checks a proof of the audit from a file, without network [audit §9.4]. Its parts are in `verify-proof.html`. */
import { checkProof } from '../../../src/transparency/proof-file.ts';
import { keyTypes, parseVerifier, type Verifier } from '../../../src/transparency/signed-note.ts';
import { webCryptography } from './web-cryptography.ts';

function part<T extends HTMLElement>(id: string, kind: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

const proof = part('proof', HTMLTextAreaElement);
const file = part('file', HTMLInputElement);
const key = part('key', HTMLInputElement);
const witnesses = part('witnesses', HTMLTextAreaElement);
const hash = part('hash', HTMLInputElement);
const answer = part('answer', HTMLDivElement);
const msPerSecond = 1000;

function say(holds: boolean, text: string): void {
  answer.dataset['holds'] = holds ? 'yes' : 'no';
  answer.textContent = text;
}

async function verifierOf(vkey: string, type: number, what: string): Promise<Verifier> {
  const verifier = await parseVerifier(vkey.trim(), webCryptography);
  if (verifier?.type !== type) throw new Error(`This is not the key of ${what}: ${vkey}`);
  return verifier;
}

async function check(): Promise<void> {
  const log = await verifierOf(key.value, keyTypes.log, 'a log');
  const lines = witnesses.value.split('\n').filter((line) => line.trim() !== '');
  const question = {
    log,
    witnesses: await Promise.all(lines.map((line) => verifierOf(line, keyTypes.witness, 'a witness'))),
    hash: hash.value === '' ? null : hash.value,
  };
  const found = await checkProof(proof.value, question, webCryptography);
  if (!found.holds) {
    say(false, `The proof is not valid: ${found.reason}.`);
    return;
  }
  const times = found.cosignatures.map(
    ({ name, timeSeconds }) => `Cosigned by ${name} at ${new Date(timeSeconds * msPerSecond).toISOString()}.`,
  );
  const { head, index, text } = found;
  const place = `The proof is valid: the event is entry ${index} of ${head.origin}, which had ${head.size} entries.`;
  const unseen = times.length === 0 ? ['No witness was named.'] : [];
  say(true, [place, ...times, ...unseen, `Hash ${found.hash}`, JSON.stringify(JSON.parse(text), null, 2)].join('\n'));
}

part('question', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  check().catch((error: unknown) => say(false, error instanceof Error ? error.message : String(error)));
});
file.addEventListener('change', () => {
  void file.files?.[0]?.text().then((text) => (proof.value = text));
});
