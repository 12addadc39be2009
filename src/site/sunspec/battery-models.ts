/** Storage: controls at an inverter (124), and stand-alone batteries (802, 803). */
import { defineModel } from './model.ts';

export const batteryModels = [
  defineModel(
    124,
    'storage',
    `
WChaMax: uint16 W WChaMax_SF rw
WChaGra WDisChaGra: uint16 % WChaDisChaGra_SF rw
StorCtl_Mod: bitfield16 - rw
VAChaMax: uint16 VA VAChaMax_SF rw
MinRsvPct: uint16 % MinRsvPct_SF rw
ChaState: uint16 % ChaState_SF
StorAval: uint16 Ah StorAval_SF
InBatV: uint16 V InBatV_SF
ChaSt: enum16
OutWRte InWRte: int16 % InOutWRte_SF rw
InOutWRte_WinTms InOutWRte_RvrtTms InOutWRte_RmpTms: uint16 s rw
ChaGriSet: enum16 - rw
WChaMax_SF WChaDisChaGra_SF VAChaMax_SF MinRsvPct_SF ChaState_SF StorAval_SF InBatV_SF InOutWRte_SF: sunssf
`,
  ),
  defineModel(
    802,
    'battery',
    `
AHRtg: uint16 Ah AHRtg_SF
WHRtg: uint16 Wh WHRtg_SF
WChaRteMax WDisChaRteMax: uint16 W WChaDisChaMax_SF
DisChaRte: uint16 % DisChaRte_SF
SoCMax SoCMin: uint16 % SoC_SF rw
SocRsvMax SoCRsvMin: uint16 % SoC_SF rw
SoC: uint16 % SoC_SF
DoD: uint16 % DoD_SF
SoH: uint16 % SoH_SF
NCyc: uint32
ChaSt: enum16
LocRemCtl: enum16
Hb: uint16
CtrlHb AlmRst: uint16 - rw
Typ State StateVnd: enum16
WarrDt: uint32
Evt1 Evt2 EvtVnd1 EvtVnd2: bitfield32
V VMax VMin: uint16 V V_SF
CellVMax: uint16 V CellV_SF
CellVMaxStr CellVMaxMod: uint16
CellVMin: uint16 V CellV_SF
CellVMinStr CellVMinMod: uint16
CellVAvg: uint16 V CellV_SF
A: int16 A A_SF
AChaMax ADisChaMax: uint16 A AMax_SF
W: int16 W W_SF
ReqInvState: enum16
ReqW: int16 W W_SF
SetOp SetInvState: enum16 - rw
AHRtg_SF WHRtg_SF WChaDisChaMax_SF DisChaRte_SF SoC_SF DoD_SF SoH_SF V_SF CellV_SF A_SF AMax_SF W_SF: sunssf
`,
  ),
  defineModel(
    803,
    'battery bank, lithium-ion',
    `
NStr NStrCon: uint16
ModTmpMax: int16 °C ModTmp_SF
ModTmpMaxStr ModTmpMaxMod: uint16
ModTmpMin: int16 °C ModTmp_SF
ModTmpMinStr ModTmpMinMod: uint16
ModTmpAvg: int16 °C ModTmp_SF
StrVMax: uint16 V V_SF
StrVMaxStr: uint16
StrVMin: uint16 V V_SF
StrVMinStr: uint16
StrVAvg: uint16 V V_SF
StrAMax: int16 A A_SF
StrAMaxStr: uint16
StrAMin: int16 A A_SF
StrAMinStr: uint16
StrAAvg: int16 A A_SF
NCellBal: uint16
CellV_SF ModTmp_SF A_SF SoH_SF SoC_SF V_SF: sunssf
`,
  ),
];
