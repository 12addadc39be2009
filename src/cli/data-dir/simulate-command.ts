/** `setpoint simulate`: a Modbus device of a template to rehearse with, as its self-test describes it [points §1.1]. */
import type { Command } from 'commander';
import { readSiteFiles } from '../../devices/materials.ts';
import { serveModbus } from '../../devices/modbus/modbus-server.ts';
import { bankOf, unitsOf, wordOrderOf } from '../../devices/templates/simulated-device.ts';
import { wholeNumber } from '../command-line.ts';
import { CommandError } from '../exit.ts';
import type { DataDirParts } from './data-dir.ts';
import { parameterOption, parametersFor, templateNamed } from './site-command.ts';

export interface SimulateParts extends DataDirParts {
  readonly untilStopped: () => Promise<void>;
}

interface Options {
  readonly port: number;
  readonly host: string;
  readonly set: Readonly<Record<string, string>>;
}

const defaultPort = 1502;

export function addSimulateCommand(setpoint: Command, parts: SimulateParts): void {
  setpoint
    .command('simulate')
    .description('simulate a Modbus device from a template and print each write')
    .argument('<template>', 'a Modbus or SunSpec template of `setpoint site templates`')
    .option('--port <number>', 'TCP port', wholeNumber, defaultPort)
    .option('--host <address>', 'bind address; loopback by default', '127.0.0.1')
    .addOption(parameterOption('unit_id=3'))
    .action((name: string, options: Options) => simulate(parts, name, options));
}

async function simulate(
  { terminal, settings, untilStopped }: SimulateParts,
  name: string,
  { port, host, set }: Options,
): Promise<void> {
  const { templates, sunSpecModels } = readSiteFiles(settings().configDir);
  const template = templateNamed(templates, name);
  if (template.channel.driver !== 'modbus-tcp' && template.channel.driver !== 'sunspec')
    throw new CommandError(`${name} is not a Modbus template (driver ${template.channel.driver})`);
  const [first] = template.self_test;
  if (first === undefined)
    throw new CommandError(`template ${name} has no self-test: add one, its registers are simulated`);
  const selfTest = { ...first, parameters: { ...first.parameters, ...parametersFor(template, set) } };
  const bank = bankOf(selfTest, wordOrderOf(template), sunSpecModels, (table, register, value) =>
    terminal.out(`written ${table} ${register}: ${value}\n`),
  );
  const units = unitsOf(template, selfTest);
  const server = await listening(() =>
    serveModbus({
      host,
      port,
      answer: ({ unit, pdu, frame }, send) => {
        // A single device answers only as its own unit.
        if (units.includes(unit)) send(frame(bank.answer(pdu)));
      },
    }),
  );
  terminal.out(`${name} listens on ${host}:${server.port} as unit ${units.join(', ')}; stop it with Ctrl-C\n`);
  await untilStopped();
  await server.close();
}

async function listening<T>(listen: () => Promise<T>): Promise<T> {
  try {
    return await listen();
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}
