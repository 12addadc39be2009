import { expect, test } from 'vitest';
import { placesOfModels, placesOfRegisters, planned, pointTexts } from './found-places.ts';

const model = (register: number) => ({
  model: 203,
  name: 'meter, three phase',
  register,
  length: 105,
  points: [
    { point: 'W', unit: 'W', value: 5 },
    { point: 'PF', unit: '', value: null },
  ],
});

test('[points §1.3] two models with the same number get an nth; SunSpec points without a value are left out', () => {
  const one = placesOfModels({ channel: 'c', registers: [], models: [model(100)] });
  expect(one.map(({ address, name, unit }) => ({ address, name, unit }))).toEqual([
    { address: { model: 203, point: 'W' }, name: 'w', unit: 'W' },
  ]);
  const two = placesOfModels({ channel: 'c', registers: [], models: [model(100), model(300)] });
  expect(two.map(({ address }) => address)).toEqual([
    { model: 203, nth: 1, point: 'W' },
    { model: 203, nth: 2, point: 'W' },
  ]);
});

test('[points §1.3] points get the smallest free numbers of their kind; a register has the type that was chosen, a bit its own', () => {
  const registers = [
    { unit: 1, table: 'holding', register: 4, words: [1] },
    { unit: 1, table: 'coil', register: 7, words: [1] },
    { unit: 1, table: 'holding', register: 6, words: [1] },
  ];
  const [first, bit, last] = placesOfRegisters({ channel: 'c', registers, models: [] }, false).map(planned);
  if (first === undefined || bit === undefined || last === undefined) throw new Error('places are missing');
  const taken = [
    { id: 1, name: 'x', kind: 'measurement' as const, unit: '1', min: null, max: null, step: null, writable: false },
  ];
  const texts = pointTexts(
    'plc',
    [{ ...first, name: ' level ', type: 'float32' }, bit, { ...last, kind: 'action' }],
    taken,
  );
  expect(texts).toEqual([
    {
      id: 2,
      name: 'level',
      kind: 'measurement',
      unit: '1',
      channel: 'plc',
      address: { table: 'holding', register: 4, type: 'float32' },
    },
    {
      id: 3,
      name: 'coil_7',
      kind: 'measurement',
      unit: '1',
      channel: 'plc',
      address: { table: 'coil', register: 7, type: 'bool' },
    },
    {
      id: 1,
      name: 'holding_6',
      kind: 'action',
      unit: '1',
      channel: 'plc',
      address: { table: 'holding', register: 6, type: 'uint16' },
    },
  ]);
});

test('[points §1.3] registers of a requested unit have it in their addresses', () => {
  const registers = [{ unit: 9, table: 'input', register: 30, words: [1] }];
  expect(placesOfRegisters({ channel: 'c', registers, models: [] }, true)[0]).toMatchObject({
    key: '9 input 30',
    label: '9 input 30',
    address: { unit_id: 9, table: 'input', register: 30 },
  });
});
