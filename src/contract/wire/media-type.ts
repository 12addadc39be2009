/** Media types on the processor wire [processor §1]: both directions use the same one, and no other is accepted. */
import { processorMediaType } from '../../api/processing.ts';

/** Type, subtype and `version=1` are required; a UTF-8 charset is allowed. */
export function isProcessorMediaType(header: string | undefined): boolean {
  const [type = '', ...parameters] = (header ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  if (type !== processorMediaType.split(';')[0]) return false;
  const versions = parameters.filter((parameter) => /^version=("1"|1)$/.test(parameter));
  const charsets = parameters.filter((parameter) => /^charset=("utf-8"|utf-8)$/.test(parameter));
  return versions.length === 1 && charsets.length <= 1 && versions.length + charsets.length === parameters.length;
}

/** Bodies are not compressed: a compressed body could be a decompression bomb. */
export function isPlainEncoding(header: string | undefined): boolean {
  return header === undefined || header.trim() === '' || header.trim().toLowerCase() === 'identity';
}
