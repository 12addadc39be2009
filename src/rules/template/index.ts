/** The templates of the package [rules §13.3]: one file and one line each. */
import { batteryNightCharge } from './battery-night-charge.ts';
import { batteryPeakShaving } from './battery-peak-shaving.ts';
import { batterySelfConsumption } from './battery-self-consumption.ts';
import { evLoadManagement } from './ev-load-management.ts';
import { evSurplusCharging } from './ev-surplus-charging.ts';
import { heatLoadShedding } from './heat-load-shedding.ts';
import { heatSurplus } from './heat-surplus.ts';
import { pvExportLimit } from './pv-export-limit.ts';
import type { RuleTemplate } from './template.ts';

export const packageTemplates: readonly RuleTemplate[] = [
  batteryPeakShaving,
  batterySelfConsumption,
  batteryNightCharge,
  pvExportLimit,
  heatSurplus,
  heatLoadShedding,
  evSurplusCharging,
  evLoadManagement,
];
