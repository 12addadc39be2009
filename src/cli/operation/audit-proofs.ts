/** `setpoint audit checkpoint`, `proof` and `consistency` of a running service [audit §9]. */
import { auditOperations } from '../../api/audit.ts';
import type { OperationCommand } from './operation-command.ts';
import { operationCommand } from './operation-command.ts';

export const auditProofCommands: readonly OperationCommand[] = [
  operationCommand('audit checkpoint', auditOperations.checkpoint, {
    description: 'print the newest checkpoint of a log, signed and cosigned',
    print: (terminal, note) => terminal.out(note),
  }),
  operationCommand('audit proof', auditOperations.proof, {
    description: 'print the proof that an event is in the log, which `audit verify-proof` checks without it',
    params: { sequence: 'the sequence of the event' },
    print: (terminal, proof) => terminal.out(proof),
  }),
  operationCommand('audit consistency', auditOperations.consistency, {
    description: 'print the proof that a log of so many entries is the beginning of a longer one',
    print: (terminal, { from, to, proof }) => terminal.out(`${[`from ${from}`, `to ${to}`, ...proof].join('\n')}\n`),
  }),
];
