/** Inverters: measurements as integers (101 to 103) and floats (111 to 113), ratings, settings, controls, inputs. */
import { defineModel } from './model.ts';

const integers = `
A AphA AphB AphC: uint16 A A_SF
A_SF: sunssf
PPVphAB PPVphBC PPVphCA PhVphA PhVphB PhVphC: uint16 V V_SF
V_SF: sunssf
W: int16 W W_SF
W_SF: sunssf
Hz: uint16 Hz Hz_SF
Hz_SF: sunssf
VA: int16 VA VA_SF
VA_SF: sunssf
VAr: int16 var VAr_SF
VAr_SF: sunssf
PF: int16 % PF_SF
PF_SF: sunssf
WH: acc32 Wh WH_SF
WH_SF: sunssf
DCA: uint16 A DCA_SF
DCA_SF: sunssf
DCV: uint16 V DCV_SF
DCV_SF: sunssf
DCW: int16 W DCW_SF
DCW_SF: sunssf
TmpCab TmpSnk TmpTrns TmpOt: int16 °C Tmp_SF
Tmp_SF: sunssf
St StVnd: enum16
Evt1 Evt2 EvtVnd1 EvtVnd2 EvtVnd3 EvtVnd4: bitfield32
`;

const floats = `
A AphA AphB AphC: float32 A
PPVphAB PPVphBC PPVphCA PhVphA PhVphB PhVphC: float32 V
W: float32 W
Hz: float32 Hz
VA: float32 VA
VAr: float32 var
PF: float32 %
WH: float32 Wh
DCA: float32 A
DCV: float32 V
DCW: float32 W
TmpCab TmpSnk TmpTrns TmpOt: float32 °C
St StVnd: enum16
Evt1 Evt2 EvtVnd1 EvtVnd2 EvtVnd3 EvtVnd4: bitfield32
`;

export const inverterModels = [
  defineModel(101, 'inverter, single phase', integers),
  defineModel(102, 'inverter, split phase', integers),
  defineModel(103, 'inverter, three phase', integers),
  defineModel(111, 'inverter, single phase, float', floats),
  defineModel(112, 'inverter, split phase, float', floats),
  defineModel(113, 'inverter, three phase, float', floats),
  defineModel(
    120,
    'nameplate ratings',
    `
DERTyp: enum16
WRtg: uint16 W WRtg_SF
WRtg_SF: sunssf
VARtg: uint16 VA VARtg_SF
VARtg_SF: sunssf
VArRtgQ1 VArRtgQ2 VArRtgQ3 VArRtgQ4: int16 var VArRtg_SF
VArRtg_SF: sunssf
ARtg: uint16 A ARtg_SF
ARtg_SF: sunssf
PFRtgQ1 PFRtgQ2 PFRtgQ3 PFRtgQ4: int16 - PFRtg_SF
PFRtg_SF: sunssf
WHRtg: uint16 Wh WHRtg_SF
WHRtg_SF: sunssf
AhrRtg: uint16 Ah AhrRtg_SF
AhrRtg_SF: sunssf
MaxChaRte: uint16 W MaxChaRte_SF
MaxChaRte_SF: sunssf
MaxDisChaRte: uint16 W MaxDisChaRte_SF
MaxDisChaRte_SF: sunssf
Pad: pad1
`,
  ),
  defineModel(
    121,
    'basic settings',
    `
WMax: uint16 W WMax_SF rw
VRef: uint16 V VRef_SF rw
VRefOfs: int16 V VRefOfs_SF rw
VMax VMin: uint16 V VMinMax_SF rw
VAMax: uint16 VA VAMax_SF rw
VArMaxQ1 VArMaxQ2 VArMaxQ3 VArMaxQ4: int16 var VArMax_SF rw
WGra: uint16 - WGra_SF rw
PFMinQ1 PFMinQ2 PFMinQ3 PFMinQ4: int16 - PFMin_SF rw
VArAct ClcTotVA: enum16 - rw
MaxRmpRte: uint16 - MaxRmpRte_SF rw
ECPNomHz: uint16 Hz ECPNomHz_SF rw
ConnPh: enum16 - rw
WMax_SF VRef_SF VRefOfs_SF VMinMax_SF VAMax_SF VArMax_SF WGra_SF PFMin_SF MaxRmpRte_SF ECPNomHz_SF: sunssf
`,
  ),
  defineModel(
    123,
    'immediate controls',
    `
Conn_WinTms Conn_RvrtTms: uint16 s rw
Conn: enum16 - rw
WMaxLimPct: uint16 % WMaxLimPct_SF rw
WMaxLimPct_WinTms WMaxLimPct_RvrtTms WMaxLimPct_RmpTms: uint16 s rw
WMaxLim_Ena: enum16 - rw
OutPFSet: int16 - OutPFSet_SF rw
OutPFSet_WinTms OutPFSet_RvrtTms OutPFSet_RmpTms: uint16 s rw
OutPFSet_Ena: enum16 - rw
VArWMaxPct VArMaxPct VArAvalPct: int16 % VArPct_SF rw
VArPct_WinTms VArPct_RvrtTms VArPct_RmpTms: uint16 s rw
VArPct_Mod VArPct_Ena: enum16 - rw
WMaxLimPct_SF OutPFSet_SF VArPct_SF: sunssf
`,
  ),
  defineModel(
    160,
    'inputs with their own trackers',
    `
DCA_SF DCV_SF DCW_SF DCWH_SF: sunssf
Evt: bitfield32
N: uint16
TmsPer: uint16 s
`,
    `
ID: uint16
IDStr: string8
DCA: uint16 A DCA_SF
DCV: uint16 V DCV_SF
DCW: uint16 W DCW_SF
DCWH: acc32 Wh DCWH_SF
Tms: uint32 s
Tmp: int16 °C
DCSt: enum16
DCEvt: bitfield32
`,
  ),
];
