/** Reads points and parameters into variables [rules §4.2]. */
import { readParameters, readVariables } from '../node-content.ts';
import type { NodeKindOf } from './kind.ts';
import type { ParameterRead, VariableRead } from './parts.ts';

interface InputContent {
  readonly variables: readonly VariableRead[];
  readonly parameters: readonly ParameterRead[];
}

export const input: NodeKindOf<'input', InputContent> = {
  type: 'input',
  fields: ['variables', 'parameters'],
  extras: [],
  outputs: ['default'],
  read(config, context) {
    const variables = readVariables(config, context, false);
    const parameters = readParameters(config, context);
    if (!config.has('variables') && !config.has('parameters')) {
      const hint = 'an input that loads nothing can be left out';
      config.fault('invalid-field', '', "an input needs 'variables', 'parameters' or both", hint);
    }
    return { content: { variables, parameters } };
  },
};
