/** `setpoint instances`: what the site file declares. */
import type { Static } from 'typebox';
import { automation } from '../../api/automation.ts';
import { printTable } from '../table.ts';
import { operationCommand } from './operation-command.ts';

type Instance = Static<(typeof automation)['instances']['answer']>['data']['instances'][number];

interface Row {
  readonly instance: Instance;
  readonly point: Instance['points'][number];
}

export const instances = operationCommand('instances', automation.instances, {
  description: 'instances, points and parameters of the site',
  print(terminal, { data }) {
    const rows = data.instances.flatMap((instance) => instance.points.map((point): Row => ({ instance, point })));
    printTable(
      terminal,
      [
        { title: 'POINT', cell: ({ instance, point }) => `${instance.id}:${point.id}` },
        { title: 'KIND', cell: ({ point }) => point.kind },
        { title: 'INSTANCE', cell: ({ instance }) => instance.name },
        { title: 'NAME', cell: ({ point }) => point.name },
        { title: 'UNIT', cell: ({ point }) => point.unit },
        { title: 'MIN', cell: ({ point }) => point.min, align: 'right' },
        { title: 'MAX', cell: ({ point }) => point.max, align: 'right' },
        { title: 'WRITABLE', cell: ({ point }) => point.writable },
      ],
      rows,
    );
    if (data.parameters.length === 0) return;
    terminal.out('\n');
    printTable(
      terminal,
      [
        { title: 'PARAMETER', cell: ({ name }) => name },
        { title: 'VALUE', cell: ({ value }) => value, align: 'right' },
        { title: 'UNIT', cell: ({ unit }) => unit },
        { title: 'IN FILE', cell: ({ file_value: inFile, changed }) => (changed ? inFile : null), align: 'right' },
      ],
      data.parameters,
    );
  },
});
