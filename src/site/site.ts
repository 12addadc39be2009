/**
 * site.yaml [points §1]: text to a validated site, or every error with file and line. Strict: unknown keys, duplicate
 * ids, unknown channels and drivers, and invalid addresses stop the start.
 */
import Type, { type Static } from 'typebox';
import { decoder } from '../base/decode.ts';
import { strict } from '../base/schema.ts';
import { notFinite, parseYaml, YamlError, type YamlFile } from '../base/yaml.ts';
import type { Parameter, PointKind, PointRef, RegisterFacts } from './catalogue.ts';
import type { DeviceTemplates } from './device-template.ts';
import { type ChannelText, fromTemplates, type InstanceText } from './instances.ts';
import { isTimeZone } from './local-time.ts';
import { type Address, type Channel, driverNames, protocolOf } from './protocol/index.ts';
import { identifier, milliseconds, type ProtocolFiles } from './protocol/protocol.ts';
import { engineeringValue } from './scaling.ts';
import { readSiteAlarms, type SiteAlarm, siteAlarmsSchema } from './site-alarms.ts';
import { readStandingLimits, type StandingLimit, standingLimitsSchema } from './standing-limits.ts';

const day = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'a day as YYYY-MM-DD' });
const wireId = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const finite = Type.Number();
const positiveMs = Type.Integer({ minimum: 1, maximum: 86_400_000 });

/** Limits of one site. The number of points bounds the memory that threads share [points §1]. */
export const channelsMaximum = 1000;
export const instancesMaximum = 4096;
export const pointsMaximum = 4096;
/** Raw values of one point that mean "not available". */
const invalidValuesMaximum = 16;

const parameterSchema = strict({
  value: finite,
  unit: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
  min: Type.Optional(finite),
  max: Type.Optional(finite),
});
const pointSchema = strict({
  id: wireId,
  name: Type.String({ minLength: 1, maxLength: 128 }),
  kind: Type.Enum(['measurement', 'action']),
  unit: Type.String({ minLength: 1, maxLength: 64 }),
  scale: Type.Optional(finite),
  offset: Type.Optional(finite),
  min: Type.Optional(finite),
  max: Type.Optional(finite),
  step: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  invalid: Type.Optional(Type.Array(finite, { maxItems: invalidValuesMaximum })),
  channel: identifier,
  address: Type.Optional(Type.Object({})),
  sign_convention: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  record: Type.Optional(Type.Boolean()),
  counter: Type.Optional(Type.Boolean()),
  poll_interval_ms: Type.Optional(milliseconds(10, 3_600_000)),
  max_age_ms: Type.Optional(positiveMs),
  max_writes_per_minute: Type.Optional(Type.Integer({ minimum: 1, maximum: 60_000 })),
  safe_value: Type.Optional(finite),
  hold_max_ms: Type.Optional(positiveMs),
  priority_hold_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
});
const siteSchema = strict({
  schema: Type.Literal('svc.site.v1'),
  site: strict({
    id: identifier,
    name: Type.String({ minLength: 1, maxLength: 256 }),
    timezone: Type.String({ minLength: 1 }),
    latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90 })),
    longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180 })),
  }),
  holidays: Type.Optional(Type.Array(day)),
  parameters: Type.Optional(Type.Record(Type.String({ pattern: '^.{1,128}$' }), parameterSchema)),
  channels: Type.Array(Type.Object({ id: identifier, driver: Type.String() }), { maxItems: channelsMaximum }),
  instances: Type.Array(
    strict({
      id: wireId,
      name: Type.String({ minLength: 1, maxLength: 128 }),
      /** A device template: its channel and points, with these parameters. */
      template: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      parameters: Type.Optional(
        Type.Record(Type.String({ pattern: '^.{1,64}$' }), Type.Union([Type.String(), Type.Number()])),
      ),
      /** A channel that several devices share, instead of the template's own. */
      channel: Type.Optional(identifier),
      points: Type.Optional(Type.Array(pointSchema)),
    }),
    { maxItems: instancesMaximum },
  ),
  limits: Type.Optional(standingLimitsSchema),
  alarms: Type.Optional(siteAlarmsSchema),
  history: Type.Optional(
    strict({
      record_interval_ms: Type.Integer({ minimum: 100, maximum: 3_600_000 }),
      retention_days: Type.Integer({ minimum: 1, maximum: 36_500 }),
    }),
  ),
});

type PointText = Static<typeof pointSchema>;

export interface SitePoint {
  readonly index: number;
  readonly instance: number;
  readonly kind: PointKind;
  readonly id: number;
  readonly name: string;
  readonly unit: string;
  /** engineering value = raw value * scale + offset */
  readonly scale: number;
  readonly offset: number;
  /** Of a written point within what its register can hold; a measurement outside is bad. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly step: number | undefined;
  /** The range of a written point's register; undefined if it can hold every number. */
  readonly register: RegisterFacts | undefined;
  /** Raw readings that mean "not available". */
  readonly invalid: readonly number[];
  /** Position in `Site.channels`. */
  readonly channel: number;
  /** Undefined on channels without addresses. */
  readonly address: Address | undefined;
  /** It contains text: its value is never a number. */
  readonly isText: boolean;
  readonly signConvention: string | undefined;
  readonly record: boolean;
  /** It counts an amount that only grows, such as energy, until it is reset. */
  readonly counter: boolean;
  /** Undefined if that of its channel applies. */
  readonly pollIntervalMs: number | undefined;
  readonly maxAgeMs: number;
  readonly maxWritesPerMinute: number | undefined;
  readonly safeValue: number | undefined;
  readonly holdMaxMs: number | undefined;
  readonly priorityHoldMs: number;
  readonly writable: boolean;
}

/** Plain data: it crosses threads by structured clone. */
export interface Site {
  readonly id: string;
  readonly name: string;
  readonly timezone: string;
  readonly latitude: number | undefined;
  readonly longitude: number | undefined;
  readonly holidays: readonly string[];
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly channels: readonly Channel[];
  readonly instances: readonly { readonly id: number; readonly name: string }[];
  readonly points: readonly SitePoint[];
  readonly limits: readonly StandingLimit[];
  readonly alarms: readonly SiteAlarm[];
  readonly history: { readonly recordIntervalMs: number; readonly retentionDays: number };
}

const decodeSite = decoder(siteSchema);
const decodePoint = decoder(pointSchema);

/** Definitions in the files next to site.yaml. */
export interface SiteFiles extends ProtocolFiles {
  readonly templates: DeviceTemplates;
}

const noFiles: SiteFiles = { templates: new Map(), sunSpecModels: [] };

/** Parses a whole site; throws a YamlError with one line per fault. */
export function readSite(text: string, fileName: string, files: SiteFiles = noFiles): Site {
  const file = parseYaml(text, fileName);
  const decoded = decodeSite(file.value);
  const faults = notFinite(file.value, '').map((path) => file.at(path, 'must be a finite number'));
  if (!decoded.ok)
    throw new YamlError([...faults, ...decoded.issues.map((issue) => file.at(issue.path, issue.message))]);
  const { value } = decoded;
  const own = value.channels.map((given, position) => ({ given, path: `/channels/${position}` }));
  const devices = fromTemplates(
    value.instances,
    own,
    files.templates,
    decodePoint,
    (path, reason) => void faults.push(file.at(path, reason)),
  );
  const channels = readChannels([...own, ...devices.channels], files, file, faults);
  const points = readPoints(devices.instances, channels, file, faults);
  if (!isTimeZone(value.site.timezone)) faults.push(file.at('/site/timezone', 'is not an IANA time zone'));
  checkHolidays(value.holidays ?? [], file, faults);
  checkParameters(value.parameters ?? {}, file, faults);
  const limits = readStandingLimits(value.limits ?? [], points, file, faults);
  const alarms = readSiteAlarms(value.alarms ?? [], points, file, faults);
  if (faults.length > 0) throw new YamlError(faults);
  return {
    id: value.site.id,
    name: value.site.name,
    timezone: value.site.timezone,
    latitude: value.site.latitude,
    longitude: value.site.longitude,
    holidays: value.holidays ?? [],
    parameters: parametersOf(value.parameters ?? {}),
    // Without faults every channel was read.
    channels: channels.flatMap(({ channel }) => channel ?? []),
    instances: value.instances.map(({ id, name }) => ({ id, name })),
    points,
    limits,
    alarms,
    history: {
      recordIntervalMs: value.history?.record_interval_ms ?? 1000,
      retentionDays: value.history?.retention_days ?? 400,
    },
  };
}

function parametersOf(parameters: Readonly<Record<string, Static<typeof parameterSchema>>>): Record<string, Parameter> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, { value, unit, min, max }]) => [
      name,
      { value, unit, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) },
    ]),
  );
}

/** The section `channels`; for a channel with invalid settings only the name is known. */
interface ReadChannel {
  readonly id: string;
  readonly position: number;
  readonly channel: Channel | undefined;
}

function readChannels(
  channels: readonly ChannelText[],
  files: SiteFiles,
  file: YamlFile,
  faults: string[],
): ReadChannel[] {
  const seen = new Set<string>();
  return channels.map(({ given, path }, position): ReadChannel => {
    if (seen.has(given.id)) faults.push(file.at(`${path}/id`, `duplicate channel ${given.id}`));
    seen.add(given.id);
    const driver = driverNames.find((name) => name === given.driver);
    if (driver === undefined) {
      const known = driverNames.join(', ');
      faults.push(file.at(`${path}/driver`, `unknown driver ${given.driver}; known are ${known}`));
      return { id: given.id, position, channel: undefined };
    }
    const protocol = protocolOf(driver);
    const decoded = protocol.settings(given);
    if (!decoded.ok) faults.push(...decoded.issues.map((issue) => file.at(path + issue.path, issue.message)));
    if (!decoded.ok) return { id: given.id, position, channel: undefined };
    protocol.checkSettings?.(decoded.value, (field, reason) => faults.push(file.at(`${path}/${field}`, reason)));
    return { id: given.id, position, channel: protocol.withFiles?.(decoded.value, files) ?? decoded.value };
  });
}

function readPoints(
  instances: readonly InstanceText<PointText>[],
  channels: readonly ReadChannel[],
  file: YamlFile,
  faults: string[],
): SitePoint[] {
  const points: SitePoint[] = [];
  // Of two with the same id, which is an error, the first.
  const channelsById = new Map(channels.toReversed().map((channel) => [channel.id, channel]));
  const seenInstances = new Set<number>();
  const seenPoints = new Set<string>();
  instances.forEach((instance, instanceIndex) => {
    const instancePath = `/instances/${instanceIndex}`;
    if (seenInstances.has(instance.id)) faults.push(file.at(`${instancePath}/id`, `duplicate instance ${instance.id}`));
    seenInstances.add(instance.id);
    for (const { text, path } of instance.points) {
      const fault: PointFault = (member, reason) => void faults.push(file.at(`${path}/${member}`, reason));
      const key = keyOf({ instance: instance.id, point_type: text.kind, point: text.id });
      if (seenPoints.has(key)) fault('id', `duplicate ${text.kind} point ${text.id} of instance ${instance.id}`);
      seenPoints.add(key);
      const found = channelsById.get(text.channel);
      if (found === undefined) fault('channel', `unknown channel ${text.channel}`);
      else if (found.channel !== undefined)
        points.push(readPoint(text, instance.id, points.length, found.channel, found.position, fault));
    }
  });
  if (points.length > pointsMaximum)
    faults.push(file.at('/instances', `${points.length} points; at most ${pointsMaximum} are allowed`));
  return points;
}

/** Reports an error in one member of a point. */
type PointFault = (member: string, reason: string) => void;

function readPoint(
  text: PointText,
  instance: number,
  index: number,
  channel: Channel,
  position: number,
  fault: PointFault,
): SitePoint {
  const writable = text.kind === 'action' || channel.driver === 'virtual';
  const address = readAddress(text, channel, fault);
  const register = writable ? registerOf(text, channel, address) : undefined;
  const { min, max } = rangeWithin(text, register);
  checkNumbers(text, min, max, writable, fault);
  return {
    index,
    instance,
    kind: text.kind,
    id: text.id,
    name: text.name,
    unit: text.unit,
    scale: text.scale ?? unitScale(text, channel, address, fault),
    offset: text.offset ?? 0,
    min,
    max,
    step: text.step,
    register,
    invalid: text.invalid ?? [],
    channel: position,
    address,
    isText: address !== undefined && protocolOf(channel.driver).hasNoNumber?.(address, channel) === true,
    signConvention: text.sign_convention,
    record: text.record ?? false,
    counter: text.counter ?? false,
    pollIntervalMs: text.poll_interval_ms,
    maxAgeMs: text.max_age_ms ?? protocolOf(channel.driver).defaultMaxAgeMs(channel, text.poll_interval_ms),
    maxWritesPerMinute: text.max_writes_per_minute,
    safeValue: text.safe_value,
    holdMaxMs: text.hold_max_ms,
    priorityHoldMs: text.priority_hold_ms ?? 0,
    writable,
  };
}

/** The default scale of a point: the device's unit may differ from the point's. */
function unitScale({ unit }: PointText, channel: Channel, address: Address | undefined, fault: PointFault): number {
  const protocol = protocolOf(channel.driver);
  if (address === undefined || protocol.unitScale === undefined) return 1;
  const scale = protocol.unitScale(address, unit, channel);
  if (scale === undefined)
    fault('unit', `the model's unit cannot be converted to ${unit}: set scale, or use a unit of the same quantity`);
  return scale ?? 1;
}

function registerOf(
  { scale = 1, offset = 0 }: PointText,
  { driver }: Channel,
  address: Address | undefined,
): RegisterFacts | undefined {
  const raw = address === undefined ? undefined : protocolOf(driver).rawRange?.(address);
  return raw === undefined ? undefined : { ...raw, scale, offset };
}

/** `min..max` of the point within what its register can hold [points §2]. */
function rangeWithin(
  { min, max }: PointText,
  register: RegisterFacts | undefined,
): { readonly min: number | undefined; readonly max: number | undefined } {
  // The range of a float is too wide to be useful in a message; its limits are checked when a value is written.
  if (register === undefined || !register.whole) return { min, max };
  const ends = [register.low, register.high].map((raw) => engineeringValue(raw, register));
  return {
    min: Math.max(min ?? Number.NEGATIVE_INFINITY, Math.min(...ends)),
    max: Math.min(max ?? Number.POSITIVE_INFINITY, Math.max(...ends)),
  };
}

function checkNumbers(
  text: PointText,
  min: number | undefined,
  max: number | undefined,
  writable: boolean,
  fault: PointFault,
): void {
  const { safe_value: safeValue } = text;
  if (text.min !== undefined && text.max !== undefined && text.min > text.max) fault('min', 'min is above max');
  else if (min !== undefined && max !== undefined && min > max)
    fault('address', 'the register cannot hold any value between min and max');
  if (text.scale === 0) fault('scale', 'scale must not be 0');
  if ((safeValue === undefined) !== (text.hold_max_ms === undefined))
    fault(safeValue === undefined ? 'hold_max_ms' : 'safe_value', 'safe_value and hold_max_ms go together');
  if (safeValue !== undefined && (safeValue < (min ?? safeValue) || safeValue > (max ?? safeValue)))
    fault('safe_value', 'safe_value is outside the range of the point');
  const writtenOnly = ['max_writes_per_minute', 'safe_value', 'hold_max_ms', 'priority_hold_ms'] as const;
  for (const member of writtenOnly)
    if (text[member] !== undefined && !writable) fault(member, `${member} is for points that are written`);
}

function readAddress(text: PointText, channel: Channel, fault: PointFault): Address | undefined {
  const protocol = protocolOf(channel.driver);
  if (text.poll_interval_ms !== undefined && protocol.pollIntervalMs === undefined)
    fault('poll_interval_ms', `points of a ${channel.driver} channel are not polled`);
  if (protocol.address === null) {
    if (text.address !== undefined) fault('address', `points of a ${channel.driver} channel have no address`);
    return undefined;
  }
  if (text.address === undefined) {
    fault('address', `a point of a ${channel.driver} channel needs an address`);
    return undefined;
  }
  const decoded = protocol.address(text.address);
  if (!decoded.ok) {
    for (const issue of decoded.issues) fault(`address${issue.path}`, issue.message);
    return undefined;
  }
  protocol.checkAddress?.(decoded.value, text.kind, fault, channel);
  if (text.record === true && protocol.hasNoNumber?.(decoded.value, channel) === true)
    fault('record', 'text is not recorded: recorded history holds numbers');
  return decoded.value;
}

function checkParameters(
  parameters: Readonly<Record<string, Static<typeof parameterSchema>>>,
  file: YamlFile,
  faults: string[],
): void {
  for (const [name, { value, min = value, max = value }] of Object.entries(parameters))
    if (value < min || value > max) faults.push(file.at(`/parameters/${name}`, 'value lies outside min..max'));
}

function checkHolidays(holidays: readonly string[], file: YamlFile, faults: string[]): void {
  holidays.forEach((day, index) => {
    const date = new Date(`${day}T00:00:00Z`);
    if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== day)
      faults.push(file.at(`/holidays/${index}`, `${day} is not a date`));
  });
}

function keyOf(ref: PointRef): string {
  return `${ref.instance}:${ref.point_type}:${ref.point}`;
}
