/**
 * The lexical rules of area C's configuration files [data-processing §1.3], in addition to those of the wire: how the keys of
 * tasks, bindings and routes may be spelled.
 */
import Type from 'typebox';
import { wireLimits } from '../api/processing.ts';

export const words = <W extends string>(...values: W[]) => Type.Enum<W[]>(values);
export const optional = Type.Optional;

/** Sign conventions, semantic points, references between files, families: compared exactly. */
export const wordSchema = Type.String({ minLength: 1, maxLength: wireLimits.identifierCharsMax });
/** The name of an environment variable, never its value. */
export const environmentNameSchema = Type.String({
  pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
  description: 'the name of an environment variable',
});
export const wholeSchema = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
/** Seconds, above zero [data-processing §1.1], at most ten years. */
export const secondsSchema = wholeSchema(1, 315_360_000);
export const aggregationSchema = words('mean', 'sum', 'min', 'max', 'last');
export const duplicatePolicySchema = words('latest', 'reject');
