/**
 * The words of area C's configuration files [data-processing §1.3], beside those of the wire: what a key of a
 * task, a binding or a route may be spelled like.
 */
import Type from 'typebox';
import { wireLimits } from '../api/processing.ts';

export const words = <W extends string>(...values: W[]) => Type.Enum<W[]>(values);
export const optional = Type.Optional;

/** Sign conventions, semantic points, references between files, families: words that are compared exactly. */
export const wordSchema = Type.String({ minLength: 1, maxLength: wireLimits.identifierCharsMax });
/** An environment variable's name, never its value. */
export const environmentNameSchema = Type.String({
  pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$',
  description: 'the name of an environment variable',
});
export const wholeSchema = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
/** Seconds, above zero [data-processing §1.1]; ten years bound what anybody can mean. */
export const secondsSchema = wholeSchema(1, 315_360_000);
export const aggregationSchema = words('mean', 'sum', 'min', 'max', 'last');
export const duplicatePolicySchema = words('latest', 'reject');
