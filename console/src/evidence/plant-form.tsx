/** The plant of a backtest in a closed loop: a battery between load, PV and grid, and which points of the site are its meters. */
import { Fieldset, SimpleGrid } from '@mantine/core';
import { PointPicker } from '../editor/point-picker.tsx';
import { type ConsoleCatalogue, type ConsolePoint, choosingAmong } from '../editor/site-catalogue.ts';
import { NumberField } from '../parts/number-field.tsx';
import { evidenceWords } from '../strings/evidence.ts';
import type { BacktestOrder } from './evidence-queries.ts';

const words = evidenceWords.backtest.plant;

const numbers = {
  capacity_kwh: { min: 0 },
  max_power_kw: { min: 0 },
  efficiency: { min: 0, max: 1 },
  initial_soc: { min: 0, max: 100 },
} as const;
const meters = {
  setpoint: 'write',
  soc: 'read',
  power: 'read',
  load: 'read',
  pv: 'read',
  grid: 'read',
} as const;
type NumberName = keyof typeof numbers;
type MeterName = keyof typeof meters;
const numberNames = Object.keys(numbers) as NumberName[];
const meterNames = Object.keys(meters) as MeterName[];
const optional: readonly (NumberName | MeterName)[] = ['initial_soc', 'power', 'grid'];

export interface PlantDraft {
  readonly numbers: Readonly<Record<NumberName, number | null>>;
  readonly meters: Readonly<Record<MeterName, ConsolePoint | null>>;
}

export const emptyPlant: PlantDraft = {
  numbers: { capacity_kwh: null, max_power_kw: null, efficiency: null, initial_soc: null },
  meters: { setpoint: null, soc: null, power: null, load: null, pv: null, grid: null },
};

/** The `plant` member of the request; null while a field is missing. */
export function assumed({ numbers: given, meters: at }: PlantDraft): BacktestOrder['assume'] | null {
  const { capacity_kwh, max_power_kw, efficiency, initial_soc } = given;
  const { setpoint, soc, power, load, pv, grid } = at;
  if (capacity_kwh === null || max_power_kw === null || efficiency === null) return null;
  if (setpoint === null || soc === null || load === null || pv === null) return null;
  const ref = ({ instance, point }: ConsolePoint) => ({ instance, point });
  return {
    battery: {
      capacity_kwh,
      max_power_kw,
      efficiency,
      ...(initial_soc === null ? {} : { initial_soc }),
      setpoint: ref(setpoint),
      soc: ref(soc),
      ...(power === null ? {} : { power: ref(power) }),
    },
    load: ref(load),
    pv: ref(pv),
    ...(grid === null ? {} : { grid: ref(grid) }),
  };
}

interface FormParts {
  readonly plant: PlantDraft;
  readonly catalogue: ConsoleCatalogue;
  readonly onPlant: (plant: PlantDraft) => void;
}

export function PlantForm({ plant, catalogue, onPlant }: FormParts) {
  const label = (name: NumberName | MeterName): string =>
    optional.includes(name) ? words.optional(words.fields[name]) : words.fields[name];
  return (
    <Fieldset legend={words.title}>
      <SimpleGrid cols={{ base: 1, sm: 2, lg: 4 }}>
        {numberNames.map((name) => (
          <NumberField
            key={name}
            label={label(name)}
            {...numbers[name]}
            value={plant.numbers[name]}
            onChange={(value) => onPlant({ ...plant, numbers: { ...plant.numbers, [name]: value } })}
          />
        ))}
        {meterNames.map((name) => (
          <PointPicker
            key={name}
            label={label(name)}
            catalogue={ofKind(catalogue, name)}
            use={meters[name]}
            value={plant.meters[name]}
            error={undefined}
            path={name}
            readOnly={false}
            onChange={(point) => onPlant({ ...plant, meters: { ...plant.meters, [name]: point } })}
          />
        ))}
      </SimpleGrid>
    </Fieldset>
  );
}

/** Only points of the right unit: percent for the charge, power for the rest. */
function ofKind(catalogue: ConsoleCatalogue, name: MeterName): ConsoleCatalogue {
  const units = name === 'soc' ? ['%'] : ['W', 'kW', 'MW'];
  const kind = name === 'setpoint' ? 'action' : 'measurement';
  return choosingAmong(catalogue, ({ unit, point_type: type }) => type === kind && units.includes(unit));
}
