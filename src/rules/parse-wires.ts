/** Reading `wires` [rules §4.1]: they define a flow; the edges only draw it. */
import type { Reader } from './issues.ts';
import type { FlowLimits } from './limits.ts';
import type { Wires } from './node/parts.ts';

/** `wires`: output name to next node ids. Outputs are kept in the order of `declared`, so that the bytes are stable. */
export function readWires(
  reader: Reader,
  limits: FlowLimits,
  declared: readonly string[],
  onUndeclared: 'refuse' | 'ignore' = 'refuse',
): Wires {
  if (!reader.has('wires')) return {};
  const wires = reader.inner('wires');
  if (wires === undefined) return {};
  const read = new Map<string, readonly string[]>();
  for (const [output, targets] of Object.entries(wires.fields)) {
    const valid =
      Array.isArray(targets) &&
      targets.length <= limits.fanOutMaximum &&
      targets.every((target) => typeof target === 'string');
    if (!valid) {
      const message = `an output is a list of at most ${limits.fanOutMaximum} node ids`;
      wires.fault('invalid-field', output, message, 'for example ["end"]');
    } else if (declared.includes(output)) read.set(output, targets);
    else if (onUndeclared === 'refuse' && !(targets.length === 0 && declared.length === 0)) {
      const hint = declared.length === 0 ? 'this node has no outputs' : `declared outputs are ${declared.join(', ')}`;
      wires.fault('undeclared-output', output, `the node has no output '${output}'`, hint);
    }
  }
  return Object.fromEntries(declared.flatMap((output) => (read.has(output) ? [[output, read.get(output) ?? []]] : [])));
}
