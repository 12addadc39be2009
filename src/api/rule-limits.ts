/** Bounds of a rule's own fields [rules §1.1]: for the schemas, for rule files and for the console's forms. */

export const priorityMax = 4_294_967_295;
/** 366 days in milliseconds. A row stored with more stays readable and editable. */
export const cooldownMsMax = 31_622_400_000;
/** Characters, after trimming. */
export const nameMax = 128;
/** Tests of one rule [rules §11.1]. */
export const ruleTestsMax = 100;
/** Points that one test gives values to, and writes that it expects. */
export const testPointsMax = 1000;
