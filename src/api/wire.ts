/** Schemas that answers of several areas are made of. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';

export const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
/** The envelope of every answer of area A and of identity. */
export const successOf = <T extends Type.TSchema>(data: T) => strict({ success: Type.Literal(true), data });
/** The bounds of the reason for an intervention, in characters. */
export const reasonLengthMin = 3;
export const reasonLengthMax = 500;
/** The reason for an intervention. */
export const whyText = Type.String({
  minLength: reasonLengthMin,
  maxLength: reasonLengthMax,
  description: `why, ${reasonLengthMin} to ${reasonLengthMax} characters`,
});
/** RFC 3339. */
export const moment = Type.String({ format: 'date-time' });
