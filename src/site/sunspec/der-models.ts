/**
 * Distributed energy resources after IEEE 1547 (701 to 714). The curves (705 to 712) are recognised, and their points are
 * read if the site defines them.
 */
import { defineModel } from './model.ts';

const phase = (name: string, next: string): string => `
W${name}: int16 W W_SF
VA${name}: int16 VA VA_SF
Var${name}: int16 var Var_SF
PF${name}: pad1
A${name}: int16 A A_SF
V${name}${next} V${name}: uint16 V V_SF
TotWhInj${name} TotWhAbs${name}: uint64 Wh TotWh_SF
TotVarhInj${name} TotVarhAbs${name}: uint64 varh TotVarh_SF
`;

export const derModels = [
  defineModel(
    701,
    'DER measurements, AC',
    `
ACType St InvSt ConnSt: enum16
Alrm DERMode: bitfield32
W: int16 W W_SF
VA: int16 VA VA_SF
Var: int16 var Var_SF
PF: pad1
A: int16 A A_SF
LLV LNV: uint16 V V_SF
Hz: uint32 Hz Hz_SF
TotWhInj TotWhAbs: uint64 Wh TotWh_SF
TotVarhInj TotVarhAbs: uint64 varh TotVarh_SF
TmpAmb TmpCab TmpSnk TmpTrns TmpSw TmpOt: int16 °C Tmp_SF
${phase('L1', 'L2')}${phase('L2', 'L3')}${phase('L3', 'L1')}
ThrotPct: uint16 %
ThrotSrc: bitfield32
A_SF V_SF Hz_SF W_SF PF_SF VA_SF Var_SF TotWh_SF TotVarh_SF Tmp_SF: sunssf
MnAlrmInfo: string32
`,
  ),
  defineModel(
    702,
    'DER capacity',
    `
WMaxRtg WOvrExtRtg: uint16 W W_SF
WOvrExtRtgPF: uint16 - PF_SF
WUndExtRtg: uint16 W W_SF
WUndExtRtgPF: uint16 - PF_SF
VAMaxRtg: uint16 VA VA_SF
VarMaxInjRtg VarMaxAbsRtg: uint16 var Var_SF
WChaRteMaxRtg WDisChaRteMaxRtg: uint16 W W_SF
VAChaRteMaxRtg VADisChaRteMaxRtg: uint16 VA VA_SF
VNomRtg VMaxRtg VMinRtg: uint16 V V_SF
AMaxRtg: uint16 A A_SF
PFOvrExtRtg PFUndExtRtg: uint16 - PF_SF
ReactSusceptRtg: uint16 - S_SF
NorOpCatRtg AbnOpCatRtg: enum16
CtrlModes: bitfield32
IntIslandCatRtg: bitfield16
WMax WMaxOvrExt: uint16 W W_SF rw
WOvrExtPF: uint16 - PF_SF rw
WMaxUndExt: uint16 W W_SF rw
WUndExtPF: uint16 - PF_SF rw
VAMax: uint16 VA VA_SF rw
VarMaxInj VarMaxAbs: uint16 var Var_SF rw
WChaRteMax WDisChaRteMax: uint16 W W_SF rw
VAChaRteMax VADisChaRteMax: uint16 VA VA_SF rw
VNom VMax VMin: uint16 V V_SF rw
AMax: uint16 A A_SF rw
PFOvrExt PFUndExt: uint16 - PF_SF rw
IntIslandCat: bitfield16 - rw
W_SF PF_SF VA_SF Var_SF V_SF A_SF S_SF: sunssf
`,
  ),
  defineModel(
    703,
    'DER enter service',
    `
ES: enum16 - rw
ESVHi ESVLo: uint16 % V_SF rw
ESHzHi ESHzLo: uint32 Hz Hz_SF rw
ESDlyTms ESRndTms ESRmpTms: uint32 s rw
ESDlyRemTms: uint32 s
V_SF Hz_SF: sunssf
`,
  ),
  defineModel(
    704,
    'DER controls, AC',
    `
PFWInjEna PFWInjEnaRvrt: enum16 - rw
PFWInjRvrtTms: uint32 s rw
PFWInjRvrtRem: uint32 s
PFWAbsEna PFWAbsEnaRvrt: enum16 - rw
PFWAbsRvrtTms: uint32 s rw
PFWAbsRvrtRem: uint32 s
WMaxLimPctEna: enum16 - rw
WMaxLimPct WMaxLimPctRvrt: uint16 % WMaxLimPct_SF rw
WMaxLimPctEnaRvrt: enum16 - rw
WMaxLimPctRvrtTms: uint32 s rw
WMaxLimPctRvrtRem: uint32 s
WSetEna WSetMod: enum16 - rw
WSet WSetRvrt: int32 W WSet_SF rw
WSetPct WSetPctRvrt: int16 % WSetPct_SF rw
WSetEnaRvrt: enum16 - rw
WSetRvrtTms: uint32 s rw
WSetRvrtRem: uint32 s
VarSetEna VarSetMod VarSetPri: enum16 - rw
VarSet VarSetRvrt: int32 var VarSet_SF rw
VarSetPct VarSetPctRvrt: int16 % VarSetPct_SF rw
VarSetEnaRvrt: enum16 - rw
VarSetRvrtTms: uint32 s rw
VarSetRvrtRem: uint32 s
WRmp: uint16 - rw
WRmpRef: enum16 - rw
VarRmp: uint16 - rw
AntiIslEna: enum16 - rw
PF_SF WMaxLimPct_SF WSet_SF WSetPct_SF VarSet_SF VarSetPct_SF: sunssf
PFWInj_PF: uint16 - PF_SF rw
PFWInj_Ext: enum16 - rw
PFWInjRvrt_PF: uint16 - PF_SF rw
PFWInjRvrt_Ext: enum16 - rw
PFWAbs_PF: uint16 - PF_SF rw
PFWAbs_Ext: enum16 - rw
PFWAbsRvrt_PF: uint16 - PF_SF rw
PFWAbsRvrt_Ext: enum16 - rw
`,
  ),
  ...[
    'volt-var',
    'volt-watt',
    'trip, low voltage',
    'trip, high voltage',
    'trip, low frequency',
    'trip, high frequency',
    'frequency droop',
    'watt-var',
  ].map((name, at) => defineModel(705 + at, `DER ${name}`, '')),
  defineModel(
    713,
    'DER storage capacity',
    `
WHRtg WHAvail: uint16 Wh WH_SF
SoC SoH: uint16 % Pct_SF
Sta: enum16
WH_SF Pct_SF: sunssf
`,
  ),
  defineModel(
    714,
    'DER measurements, DC',
    `
PrtAlrms: bitfield32
NPrt: uint16
DCA: int16 A DCA_SF
DCW: int16 W DCW_SF
DCWhInj DCWhAbs: uint64 Wh DCWH_SF
DCA_SF DCV_SF DCW_SF DCWH_SF Tmp_SF: sunssf
`,
    `
PrtTyp: enum16
ID: uint16
IDStr: string8
DCA: int16 A DCA_SF
DCV: uint16 V DCV_SF
DCW: int16 W DCW_SF
DCWhInj DCWhAbs: uint64 Wh DCWH_SF
Tmp: int16 °C Tmp_SF
DCSta: enum16
DCAlrm: bitfield32
`,
  ),
];
