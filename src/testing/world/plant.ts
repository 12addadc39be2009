/**
 * The plant of the world and its faulty Modbus devices: a battery, a meter and a grid connection that follow their
 * commands, over frames on simulated time. A device may refuse with any exception code, fall silent, send nonsense, answer
 * twice, be slow, close the connection after each answer or be unreachable.
 */
import type { Clock } from '../../base/clock.ts';
import type { ModbusPlace, OpenWire, WireEvents } from '../../devices/modbus/modbus-client.ts';
import { frameOf, type ModbusFrame, takeFrames } from '../../devices/modbus/modbus-frame.ts';
import type { Random } from './random.ts';

type DeviceFault = 'none' | 'exception' | 'silent' | 'garbage' | 'doubled' | 'slow' | 'closing' | 'away';

/** Those that strike, each as often as it is listed. */
export const deviceFaults: readonly DeviceFault[] = [
  'exception',
  'silent',
  'garbage',
  'doubled',
  'slow',
  'slow',
  'away',
  'closing',
];

export interface DeviceWrite {
  readonly device: string;
  readonly register: number;
  /** As the register holds it, unsigned. */
  readonly raw: number;
}

export interface PlantDevice {
  readonly name: string;
  readonly registers: Uint16Array;
  fault: DeviceFault;
  /** The exception code while its fault is `exception`. */
  exception: number;
  reads: number;
  /** Connections made while it answers twice. */
  doubledConnections: number;
}

export interface Plant {
  readonly devices: readonly PlantDevice[];
  readonly open: OpenWire;
  /** One second passes for the equipment. */
  live(): void;
}

const lineMs = 2;
const slowMs = 150;

/** Registers of the battery: 0 state of charge (0.1 %), 1 power (0.1 kW), 10 setpoint, 11 mode; of the meter: 0 load, 1 grid, 20 limit. */
export function createPlant(random: Random, clock: Clock, onWrite: (write: DeviceWrite) => void): Plant {
  const device = (name: string): PlantDevice => ({
    name,
    registers: new Uint16Array(32),
    fault: 'none',
    exception: 2,
    reads: 0,
    doubledConnections: 0,
  });
  const battery = device('battery');
  const meter = device('meter');
  const devices = [battery, meter];
  battery.registers[0] = 500;
  meter.registers[0] = 1000;

  const open: OpenWire = (place, events) => openWire(deviceAt(devices, place), clock, random, events, onWrite);
  return {
    devices,
    open,
    live() {
      const set = (of: PlantDevice, register: number, value: number): void => void (of.registers[register] = value);
      const load = Math.max(0, (meter.registers[0] ?? 0) + random.below(201) - 100);
      const setpoint = signed(battery.registers[10] ?? 0);
      const charge = Math.min(1000, Math.max(0, (battery.registers[0] ?? 0) - Math.round(setpoint / 100)));
      set(battery, 0, charge);
      set(battery, 1, setpoint & 0xffff);
      set(meter, 0, Math.min(load, 3000));
      set(meter, 1, Math.max(-30_000, load - setpoint) & 0xffff);
    },
  };
}

function deviceAt(devices: readonly PlantDevice[], { port }: ModbusPlace): PlantDevice {
  const found = devices[port - 502];
  if (found === undefined) throw new Error(`nothing listens on port ${port}`);
  return found;
}

function signed(raw: number): number {
  return raw > 0x7fff ? raw - 0x1_0000 : raw;
}

function openWire(
  device: PlantDevice,
  clock: Clock,
  random: Random,
  events: WireEvents,
  onWrite: (write: DeviceWrite) => void,
): ReturnType<OpenWire> {
  let state: 'opening' | 'open' | 'closed' = 'opening';
  let received: Buffer = Buffer.alloc(0);
  const close = (reason: string | null): void => {
    if (state === 'closed') return;
    state = 'closed';
    clock.soon(() => {
      if (reason !== null) events.failed(reason);
      events.closed();
    });
  };
  clock.after(lineMs, () => {
    if (state === 'closed') return;
    if (device.fault === 'away') return close('connection refused');
    state = 'open';
    if (device.fault === 'doubled') device.doubledConnections++;
    events.connected();
  });
  const send = (bytes: Buffer): void => {
    clock.after(device.fault === 'slow' ? slowMs : lineMs, () => {
      if (state === 'open') events.data(bytes);
    });
  };
  const answer = (frame: ModbusFrame): void => {
    if (device.fault === 'away') return close('connection reset');
    if (device.fault === 'silent') return;
    if (device.fault === 'garbage') return send(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'));
    if (device.fault === 'exception')
      return send(frameOf({ ...frame, pdu: Buffer.of((frame.pdu[0] ?? 0) | 0x80, device.exception) }));
    const bytes = frameOf({ ...frame, pdu: carriedOut(device, frame.pdu, onWrite) });
    const cut = random.below(bytes.length);
    send(bytes.subarray(0, cut));
    send(bytes.subarray(cut));
    if (device.fault === 'doubled') send(bytes);
    if (device.fault === 'closing') clock.after(2 * lineMs, () => close(null));
  };
  return {
    get isOpen() {
      return state === 'open';
    },
    write(bytes) {
      clock.after(lineMs, () => {
        if (state !== 'open') return;
        const taken = takeFrames(Buffer.concat([received, bytes]));
        if (taken === null) throw new Error('the driver does not speak Modbus TCP');
        received = taken.rest;
        for (const frame of taken.frames) answer(frame);
      });
    },
    destroy: () => close(null),
  };
}

/** Reads of holding and input registers (one table here) and writes of one register. */
function carriedOut(device: PlantDevice, pdu: Buffer, onWrite: (write: DeviceWrite) => void): Buffer {
  const code = pdu.readUInt8(0);
  const [first, second] = [pdu.readUInt16BE(1), pdu.readUInt16BE(3)];
  if (code === 6) {
    device.registers[first] = second;
    onWrite({ device: device.name, register: first, raw: second });
    return pdu;
  }
  device.reads++;
  const values = Buffer.alloc(second * 2);
  for (let at = 0; at < second; at++) values.writeUInt16BE(device.registers[first + at] ?? 0, at * 2);
  return Buffer.concat([Buffer.of(code, values.length), values]);
}
