/** A made-up SunSpec model definition (SunSpec Alliance JSON): curves with points, trips, modules, and every kind of scale. */

type Definition = Readonly<Record<string, unknown>>;

export const point = (name: string, type: string, size: number, more: Definition = {}): Definition => ({
  name,
  type,
  size,
  label: `Label of ${name}`,
  mandatory: 'O',
  ...more,
});

const head = (id: number): readonly Definition[] => [
  point('ID', 'uint16', 1, { value: id, static: 'S' }),
  point('L', 'uint16', 1, { static: 'S' }),
];

export const group = (
  name: string,
  points: readonly Definition[],
  more: { readonly count?: number | string; readonly groups?: readonly Definition[] } = {},
): Definition => ({ name, type: 'group', points, ...more });

export function modelDefinition(id: number, points: readonly Definition[], groups: readonly Definition[] = []) {
  return { id, group: { ...group('vendor_model', [...head(id), ...points]), label: 'Vendor model', groups } };
}

/** Curves of points, with a trip each, as the models 705 to 712 have them. */
export const curves = modelDefinition(
  64_901,
  [
    point('Ena', 'enum16', 1, { access: 'RW', symbols: [{ name: 'OFF', value: 0 }] }),
    point('NPt', 'count', 1),
    point('NCrv', 'count', 1),
    point('V_SF', 'sunssf', 1),
    point('Total', 'int64', 4, { units: 'Wh', sf: -2 }),
    point('Id64', 'bitfield64', 4),
  ],
  [
    group('Crv', [point('ActPt', 'uint16', 1, { access: 'RW' }), point('T_SF', 'sunssf', 1)], {
      count: 'NCrv',
      groups: [
        group('Trip', [point('Late', 'uint16', 1, { units: 'Secs', sf: 'T_SF' })]),
        group(
          'Pt',
          [
            point('V', 'uint16', 1, { units: 'V', sf: 'V_SF', access: 'RW' }),
            point('Tms', 'uint32', 2, { units: 'Secs', sf: 'T_SF', access: 'RW' }),
          ],
          { count: 'NPt' },
        ),
      ],
    }),
  ],
);

/** As many modules as the length of the model allows. */
export const modules = modelDefinition(
  64_902,
  [point('StrIdx', 'uint16', 1), point('V_SF', 'sunssf', 1)],
  [
    group(
      'lithium_ion_string_module',
      [point('ModV', 'uint16', 1, { units: 'V', sf: 'V_SF' }), point('Pad1', 'pad', 1)],
      {
        count: 0,
      },
    ),
  ],
);
