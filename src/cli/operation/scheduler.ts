/** `setpoint scheduler …` of a running service. */
import { automation } from '../../api/automation.ts';
import { type Cell, printProperties } from '../table.ts';
import { painted } from '../terminal.ts';
import { operationCommand } from './operation-command.ts';

export const schedulerCommands = [
  operationCommand('scheduler status', automation.schedulerStatus, {
    description: 'whether the scheduler runs, and the delay of its ticks',
    watch: true,
    print: (terminal, { data }) => printProperties(terminal, onOneLine(data)),
  }),
  operationCommand('scheduler reload', automation.reload, {
    description: 'reload all rules and the site parameters',
    // Only changes of rules need confirmation.
    change: null,
    print(terminal, { data }) {
      terminal.out(`loaded ${data.rules_loaded}\n`);
      for (const { id, code } of data.rules_failed)
        terminal.out(`${painted(terminal, 'red', 'failed')} ${id} ${code}\n`);
    },
  }),
];

/** Members that fit on a line. */
function onOneLine(value: object): Record<string, Cell> {
  const properties: Record<string, Cell> = {};
  for (const [name, member] of Object.entries(value) as [string, unknown][])
    if (typeof member === 'string' || typeof member === 'number' || typeof member === 'boolean' || member === null)
      properties[name] = member;
  return properties;
}
