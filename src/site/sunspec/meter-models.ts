/** Meters: measurements as integers (201 to 204) and floats (211 to 214). */
import { defineModel } from './model.ts';

const phases = (name: string): string => ['', 'phA', 'phB', 'phC'].map((phase) => `${name}${phase}`).join(' ');
const totals = (name: string): string => ['', 'PhA', 'PhB', 'PhC'].map((phase) => `${name}${phase}`).join(' ');
const voltages = `${phases('PhV')} PPV PPVphAB PPVphBC PPVphCA`;
const reactive = ['TotVArhImpQ1', 'TotVArhImpQ2', 'TotVArhExpQ3', 'TotVArhExpQ4'].map(totals).join(' ');

const integers = `
${phases('A')}: int16 A A_SF
A_SF: sunssf
${voltages}: int16 V V_SF
V_SF: sunssf
Hz: int16 Hz Hz_SF
Hz_SF: sunssf
${phases('W')}: int16 W W_SF
W_SF: sunssf
${phases('VA')}: int16 VA VA_SF
VA_SF: sunssf
${phases('VAR')}: int16 var VAR_SF
VAR_SF: sunssf
${phases('PF')}: int16 % PF_SF
PF_SF: sunssf
${totals('TotWhExp')} ${totals('TotWhImp')}: acc32 Wh TotWh_SF
TotWh_SF: sunssf
${totals('TotVAhExp')} ${totals('TotVAhImp')}: acc32 VAh TotVAh_SF
TotVAh_SF: sunssf
${reactive}: acc32 varh TotVArh_SF
TotVArh_SF: sunssf
Evt: bitfield32
`;

const floats = `
${phases('A')}: float32 A
${voltages}: float32 V
Hz: float32 Hz
${phases('W')}: float32 W
${phases('VA')}: float32 VA
${phases('VAR')}: float32 var
${phases('PF')}: float32 %
${totals('TotWhExp')} ${totals('TotWhImp')}: float32 Wh
${totals('TotVAhExp')} ${totals('TotVAhImp')}: float32 VAh
${reactive}: float32 varh
Evt: bitfield32
`;

const kinds = ['single phase', 'split phase', 'three phase, wye', 'three phase, delta'];

export const meterModels = [
  ...kinds.map((kind, at) => defineModel(201 + at, `meter, ${kind}`, integers)),
  ...kinds.map((kind, at) => defineModel(211 + at, `meter, ${kind}, float`, floats)),
];
