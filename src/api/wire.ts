/** Schemas that answers of several areas are made of. */
import * as Type from 'typebox';
import { strict } from '../base/schema.ts';

export const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
/** The envelope of every answer of area A and of identity. */
export const successOf = <T extends Type.TSchema>(data: T) => strict({ success: Type.Literal(true), data });
/** RFC 3339. */
export const moment = Type.String({ format: 'date-time' });
