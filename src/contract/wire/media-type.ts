/** Media types on the processor wire [processor §1]: the one that both directions use, and nothing near it. */
import { processorMediaType } from '../../api/processing.ts';

/** Type, subtype and `version=1` must be there; a UTF-8 charset may be. */
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

/** Bodies travel as they are: what is compressed could be a bomb. */
export function isPlainEncoding(header: string | undefined): boolean {
  return header === undefined || header.trim() === '' || header.trim().toLowerCase() === 'identity';
}
