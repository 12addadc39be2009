/** A device as the self-test of its template describes it: what it holds, ready to be served. */
import {
  type DeviceSelfTest,
  type DeviceTemplate,
  fillTemplate,
  type RegisterWords,
} from '../../site/device-template.ts';
import { type ModbusType, registersTaken } from '../../site/protocol/modbus-raw.ts';
import type { SunSpecModel } from '../../site/sunspec/model.ts';
import { modelsWith } from '../../site/sunspec/models.ts';
import { type Encoding, encodeRegisters } from '../modbus/modbus-codec.ts';
import { createRegisterBank, type RegisterBank } from '../modbus/register-bank.ts';
import { fillModels } from '../sunspec/model-registers.ts';

const sunSpecBase = 40_000;

/** The registers that the test gives. Throws an Error that names what cannot be. */
export function bankOf(
  { given }: DeviceSelfTest,
  wordOrder: Encoding['wordOrder'],
  sunSpecModels: readonly SunSpecModel[],
  onWrite?: Parameters<typeof createRegisterBank>[0],
): RegisterBank {
  const bank = createRegisterBank(onWrite);
  if (given.models !== undefined) fillModels(bank, 1, sunSpecBase, given.models, modelsWith(sunSpecModels));
  for (const [table, entries] of Object.entries(given.registers ?? {}))
    for (const [first, words] of Object.entries(entries))
      wordsOf(words, wordOrder).forEach((word, at) => bank.set(table as 'holding', Number(first) + at, word));
  return bank;
}

/** `{ int32: -5000 }`, a word, or several. */
export function wordsOf(words: RegisterWords, wordOrder: Encoding['wordOrder']): readonly number[] {
  if (typeof words === 'number') return [words];
  if (Array.isArray(words)) return words;
  return Object.entries(words).flatMap(([type, value]) => {
    if (typeof value === 'string') return wordsIn(padded(Buffer.from(value)));
    const encoding = {
      type: type as ModbusType,
      length: registersTaken({ type: type as ModbusType }),
      wordOrder,
      byteOrder: 'big',
      bit: undefined,
    } as const;
    const bytes = encodeRegisters(value, encoding);
    if (bytes === null) throw new Error(`${value} is no ${type}`);
    return wordsIn(bytes);
  });
}

function padded(bytes: Buffer): Buffer {
  return bytes.length % 2 === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(1)]);
}

function wordsIn(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 2 }, (_, at) => bytes.readUInt16BE(at * 2));
}

/** How values of more than one register stand on a channel of the template. */
export function wordOrderOf(template: DeviceTemplate): Encoding['wordOrder'] {
  return Reflect.get(template.channel, 'word_order') === 'little' ? 'little' : 'big';
}

/** Units that the template's points ask, with the parameters of the test. */
export function unitsOf(template: DeviceTemplate, test: DeviceSelfTest): readonly number[] {
  const filled = fillTemplate(template, { ...placeholders(template), ...test.parameters });
  if ('faults' in filled) throw new Error(filled.faults.map((fault) => fault.join(' ')).join('\n'));
  const own = Number(filled.channel['unit_id'] ?? 1);
  const addressed = filled.points.map((point) => Number(Reflect.get(Object(point['address']), 'unit_id') ?? own));
  return [...new Set([own, ...addressed])];
}

/** Something for each parameter that has no default. */
export function placeholders(template: DeviceTemplate): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(template.parameters).flatMap(([name, { type, default: given }]) =>
      given === undefined ? [[name, type === 'text' ? '127.0.0.1' : 1]] : [],
    ),
  );
}
