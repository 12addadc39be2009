/** `setpoint parameters …` of a running service. */
import { automation } from '../../api/automation.ts';
import { operationCommand } from './operation-command.ts';

const params = { name: 'the name of a parameter' };

export const parameterCommands = [
  operationCommand('parameters update', automation.parameterUpdate, {
    params,
    description: 'change the value of a parameter',
    members: {
      value: { flags: '--value <number>', text: 'in the unit of the parameter' },
      reason: 'why, 3 to 500 characters',
    },
    change: ({ path, sent }) => `set ${path['name']} to ${String(sent['value'])}`,
    print: (terminal, { data }) => terminal.out(`${data.name} ${data.value}\n`),
  }),
  operationCommand('parameters reset', automation.parameterReset, {
    params,
    description: 'reset a parameter to the value of the site file',
    change: ({ path }) => `reset ${path['name']} to the value of the site file`,
    print: (terminal, { data }) => terminal.out(`${data.name} ${data.value}\n`),
  }),
];
