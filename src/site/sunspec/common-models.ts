/** The common model of every SunSpec device. */
import { defineModel } from './model.ts';

export const commonModels = [
  defineModel(
    1,
    'common',
    `
Mn Md: string16
Opt Vr: string8
SN: string16
DA: uint16 - rw
`,
  ),
];
