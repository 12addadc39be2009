/**
 * SunSpec model definitions of a site [points §3.4], in the JSON format of the SunSpec Alliance (SunSpec Device Information
 * Model Specification). Names, types, sizes, scales, units and access are used; labels and descriptions are ignored.
 */
import Type, { type Static } from 'typebox';
import { decoder } from '../../base/decode.ts';
import { parseYaml, YamlError } from '../../base/yaml.ts';
import { lengthOfType, type SunSpecGroup, type SunSpecModel, type SunSpecPoint, type SunSpecType } from './model.ts';

/** Nested groups below the model itself. */
export const groupDepthMaximum = 3;
/** The registers of one read request limit the size of a point. */
const pointRegistersMaximum = 125;

const name = Type.String({
  pattern: '^[A-Za-z][A-Za-z0-9_]{0,63}$',
  description: '1 to 64 letters, digits and _, the first a letter',
});
const pointSchema = Type.Object({
  name,
  type: Type.String(),
  size: Type.Integer({ minimum: 1, maximum: pointRegistersMaximum }),
  count: Type.Optional(Type.Literal(1)),
  sf: Type.Optional(Type.Union([name, Type.Integer({ minimum: -10, maximum: 10 })])),
  units: Type.Optional(Type.String({ maxLength: 64 })),
  access: Type.Optional(Type.Enum(['R', 'RW'])),
});
const groupSchema = Type.Object({
  name,
  type: Type.Enum(['group', 'sync']),
  count: Type.Optional(Type.Union([name, Type.Integer({ minimum: 0, maximum: 65_535 })])),
  points: Type.Optional(Type.Array(pointSchema)),
  groups: Type.Optional(Type.Array(Type.Unknown())),
});
const modelSchema = Type.Object({ id: Type.Integer({ minimum: 1, maximum: 65_534 }), group: groupSchema });

type PointText = Static<typeof pointSchema>;

/** Types by their name in the file; `pad` types have no value. */
const typeOf: Readonly<Record<string, SunSpecType>> = {
  int16: 'int16',
  uint16: 'uint16',
  count: 'uint16',
  acc16: 'acc16',
  enum16: 'enum16',
  bitfield16: 'bitfield16',
  sunssf: 'sunssf',
  int32: 'int32',
  uint32: 'uint32',
  enum32: 'uint32',
  acc32: 'acc32',
  bitfield32: 'bitfield32',
  int64: 'int64',
  uint64: 'uint64',
  acc64: 'acc64',
  float32: 'float32',
  float64: 'float64',
  string: 'string',
  pad: 'pad',
  raw16: 'pad',
  bitfield64: 'pad',
  ipaddr: 'pad',
  ipv6addr: 'pad',
  eui48: 'pad',
};

const decodeModel = decoder(modelSchema);
const decodeGroup = decoder(groupSchema);

/** The context of a group: the names that it may refer to. */
interface Around {
  readonly depth: number;
  /** Points of the model itself that may hold the count of a group. */
  readonly counts: ReadonlySet<string>;
  readonly scales: ReadonlySet<string>;
  /** The group is the last part of the model. */
  readonly isLast: boolean;
}

/** Throws a YamlError with one line per fault. */
export function readModelDefinition(text: string, fileName: string): SunSpecModel {
  const file = parseYaml(text, fileName);
  const faults: string[] = [];
  const fault = (path: string, reason: string): void => void faults.push(file.at(path, reason));
  const decoded = decodeModel(file.value);
  if (!decoded.ok) throw new YamlError(decoded.issues.map(({ path, message }) => file.at(path, message)));
  const { id, group } = decoded.value;
  const [first, second, ...points] = group.points ?? [];
  if (first?.name !== 'ID' || first.size !== 1 || second?.name !== 'L' || second.size !== 1)
    throw new YamlError([file.at('/group/points', 'must begin with ID and L, of one register each')]);
  const counts = new Set(points.filter(({ type, size }) => size === 1 && type !== 'sunssf').map((each) => each.name));
  const around: Around = { depth: 0, counts, scales: new Set(), isLast: true };
  const parts = readParts({ ...group, points }, '/group', 2, around, fault);
  if (faults.length > 0) throw new YamlError(faults);
  return { model: id, name: group.name, ...parts };
}

type Fault = (path: string, reason: string) => void;

/** `skipped`: points of the file before the first of these. */
function readParts(
  group: Static<typeof groupSchema>,
  path: string,
  skipped: number,
  around: Around,
  fault: Fault,
): Pick<SunSpecGroup, 'points' | 'groups'> {
  const texts = group.points ?? [];
  const own = texts.filter(({ type }) => type === 'sunssf').map((each) => each.name);
  const scales = new Set([...around.scales, ...own]);
  const names = new Set<string>();
  let offset = 0;
  const points = texts.map((text, at): SunSpecPoint => {
    const place = `${path}/points/${at + skipped}`;
    if (names.has(text.name)) fault(`${place}/name`, `${text.name} occurs twice`);
    names.add(text.name);
    const point = readPoint(text, offset, place, scales, fault);
    offset += point.length;
    return point;
  });
  return { points, groups: readGroups(group.groups ?? [], path, { ...around, scales }, fault) };
}

function readGroups(given: readonly unknown[], path: string, around: Around, fault: Fault): SunSpecGroup[] {
  if (given.length > 0 && around.depth === groupDepthMaximum) {
    fault(`${path}/groups`, `groups are nested more than ${groupDepthMaximum} deep`);
    return [];
  }
  const names = new Set<string>();
  return given.flatMap((each, at) => {
    const place = `${path}/groups/${at}`;
    const isLast = around.isLast && at === given.length - 1;
    const groups = readGroup(each, place, { ...around, depth: around.depth + 1, isLast }, fault);
    for (const { name: groupName } of groups) {
      if (names.has(groupName)) fault(`${place}/name`, `the group ${groupName} occurs twice`);
      names.add(groupName);
    }
    return groups;
  });
}

function readGroup(given: unknown, path: string, around: Around, fault: Fault): SunSpecGroup[] {
  const decoded = decodeGroup(given);
  if (!decoded.ok) {
    for (const issue of decoded.issues) fault(path + issue.path, issue.message);
    return [];
  }
  const { name: groupName, count = 1 } = decoded.value;
  if (typeof count === 'string' && !around.counts.has(count))
    fault(`${path}/count`, `the model itself has no point ${count} of one register`);
  // Without a count point, the number of repetitions follows from the length of the model.
  if (count === 0 && (!around.isLast || around.depth > 1))
    fault(`${path}/count`, '0 (as many as fit) is allowed only for the last group of the model');
  const parts = readParts(decoded.value, path, 0, { ...around, isLast: around.isLast && count === 1 }, fault);
  if (parts.points.length + parts.groups.length === 0) fault(path, 'has neither points nor groups');
  return [{ name: groupName, count: count === 0 ? null : count, ...parts }];
}

function readPoint(
  { name: pointName, type: given, size, sf, units = '', access }: PointText,
  offset: number,
  path: string,
  scales: ReadonlySet<string>,
  fault: Fault,
): SunSpecPoint {
  const type = typeOf[given];
  if (type === undefined) fault(`${path}/type`, `unknown type ${given}; known are ${Object.keys(typeOf).join(', ')}`);
  const length = type === undefined ? undefined : lengthOfType(type);
  if (length !== undefined && length !== size) fault(`${path}/size`, `must be ${length} for ${given}`);
  if (typeof sf === 'string' && !scales.has(sf))
    fault(`${path}/sf`, `neither this group nor an enclosing one has a sunssf point ${sf}`);
  return {
    name: pointName,
    type: type ?? 'pad',
    length: size,
    offset,
    scale: sf,
    unit: unitNames[units] ?? units,
    writable: access === 'RW',
  };
}

/** Units of the definitions that have another name in a site. */
const unitNames: Readonly<Record<string, string>> = { Pct: '%', C: '°C', Secs: 's', VAr: 'var', VArh: 'varh' };
