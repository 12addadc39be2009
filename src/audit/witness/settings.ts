/** Names and witnesses of the audit logs [audit §9]: the section `audit` of service.yaml without its limits. */
import Type, { type Static } from 'typebox';
import { strict } from '../../base/schema.ts';
import { YamlError } from '../../base/yaml.ts';
import { outboundUrlFault } from '../../egress/outbound-url.ts';
import { originBytesMax } from '../../transparency/checkpoint.ts';
import { keyTypes, parseVerifier } from '../../transparency/signed-note.ts';
import { nodeCryptography } from '../../transparency/signing.ts';
import type { ConfiguredWitness } from './witnesses.ts';

/** Maximum number of witnesses. */
const witnessesMax = 10;

export const auditNames = {
  origin: Type.Optional(
    Type.String({
      pattern: '^[^\\s+]+$',
      maxLength: originBytesMax,
      description:
        'a prefix of the log names without white space or +; default setpoint/<site id>. Cannot change after the first event',
    }),
  ),
  witnesses: Type.Optional(
    Type.Array(
      strict({
        url: Type.String({ minLength: 1, maxLength: 2048, description: 'prefix of the witness’ add-checkpoint' }),
        vkey: Type.String({ minLength: 1, maxLength: 512, description: 'its key, as it prints it' }),
      }),
      { maxItems: witnessesMax },
    ),
  ),
  witness_policy: Type.Optional(
    strict({
      required: Type.Integer({
        minimum: 0,
        maximum: witnessesMax,
        description: 'cosignatures that a checkpoint needs before it is published',
      }),
    }),
  ),
};
const schema = strict(auditNames);
export type AuditNames = Static<typeof schema>;

export interface WitnessPolicy {
  readonly witnesses: readonly ConfiguredWitness[];
  readonly required: number;
}

/** Throws a YamlError with one line per fault. */
export async function witnessPolicy({ witnesses = [], witness_policy: policy }: AuditNames): Promise<WitnessPolicy> {
  const faults: string[] = [];
  const found: ConfiguredWitness[] = [];
  for (const [position, { url: text, vkey }] of witnesses.entries()) {
    const at = `service.yaml: audit.witnesses[${position}]`;
    const url = URL.parse(text);
    const verifier = await parseVerifier(vkey, nodeCryptography);
    const fault = outboundUrlFault(url);
    if (fault !== null) faults.push(`${at}.url: ${fault}`);
    if (verifier?.type !== keyTypes.witness)
      faults.push(`${at}.vkey: is not the key of a witness (name+8 digits+base64)`);
    else if (found.some((other) => other.verifier.name === verifier.name)) faults.push(`${at}.vkey: is given twice`);
    else if (url !== null) found.push({ url, verifier });
  }
  const required = policy?.required ?? 0;
  if (required > witnesses.length)
    faults.push(
      `service.yaml: audit.witness_policy.required: must be at most ${witnesses.length}, the number of witnesses`,
    );
  if (faults.length > 0) throw new YamlError(faults);
  return { witnesses: found, required };
}
