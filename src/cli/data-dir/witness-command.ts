/** `setpoint witness` [audit §9.6]: cosigns the audit logs of other sites until it is stopped. Needs no data dir. */
import type { Command } from 'commander';
import { createLog } from '../../base/log.ts';
import { formatVerifier, isKeyName, keyTypes } from '../../transparency/signed-note.ts';
import { cosigner } from '../../transparency/signing.ts';
import { serveWitness } from '../../witness/serve-witness.ts';
import { Witness } from '../../witness/witness.ts';
import { WitnessState } from '../../witness/witness-state.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { type DataDirParts, forPerson } from './data-dir.ts';
import { verifierOf } from './verifier-option.ts';

interface WitnessOptions {
  readonly listen: string;
  readonly state: string;
  readonly name: string;
  readonly log: readonly string[];
}

export interface WitnessParts extends Pick<DataDirParts, 'terminal' | 'clock'> {
  /** Resolves on a stop signal. */
  readonly untilStopped: () => Promise<void>;
}

export function addWitnessCommand(setpoint: Command, parts: WitnessParts): void {
  setpoint
    .command('witness')
    .description('run a witness: cosign the audit logs of other sites, so that a rewritten log is detected')
    .requiredOption('--listen <host:port>', 'where it is asked; put a proxy with TLS before it')
    .requiredOption('--state <file>', 'file of its key and the newest checkpoints; created at the first start')
    .requiredOption('--name <name>', 'its name in cosignatures, such as witness.example.org')
    .requiredOption('--log <vkey...>', 'keys of the logs, as `setpoint audit key` prints them')
    .action((options: WitnessOptions) => witness(parts, options));
}

async function witness(
  { terminal, clock, untilStopped }: WitnessParts,
  { listen, state, name, log }: WitnessOptions,
): Promise<void> {
  const address = /^(.+):(\d{1,5})$/.exec(listen);
  const port = Number(address?.[2]);
  if (address === null || port > 65_535)
    throw new CommandError('--listen must be HOST:PORT, such as 127.0.0.1:8181', exitCodes.notConfirmed);
  if (!isKeyName(name))
    throw new CommandError('--name must not be empty, nor hold spaces or plus signs', exitCodes.notConfirmed);
  const logs = await Promise.all(log.map((vkey) => verifierOf(vkey, keyTypes.log, '--log')));
  const stored = forPerson(() => new WitnessState(state));
  const own = await cosigner(name, stored.keys);
  const host = address[1]?.replace(/^\[|\]$/g, '') ?? '';
  const listening = await serveWitness(
    new Witness(stored, own, logs, clock),
    { host, port },
    { clock, log: createLog('info', { service: 'setpoint-witness' }) },
  ).catch((error: unknown) => {
    throw new CommandError(`cannot listen on ${listen}: ${error instanceof Error ? error.message : String(error)}`);
  });
  terminal.out(`witness ${formatVerifier(own.verifier)}\nlistening on ${host}:${listening.port}\n`);
  await untilStopped();
  await listening.close();
}
