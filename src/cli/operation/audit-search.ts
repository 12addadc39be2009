/** `setpoint audit search` of a running service. */
import { auditOperations } from '../../api/audit.ts';
import { printTable } from '../table.ts';
import { operationCommand } from './operation-command.ts';

export const auditSearch = operationCommand('audit search', auditOperations.search, {
  description: 'audit events of a running service, newest first; needs the role Admin',
  members: {
    action: { flags: '--action <name>', text: 'such as automation.rule.update' },
    subjectId: { flags: '--subject <id>', text: 'who did it' },
    resourceId: { flags: '--resource <id>', text: 'such as automation-rule:3' },
    resourceKind: { flags: '--resource-kind <kind>', text: 'such as automation-rule' },
    from: { flags: '--from <time>', text: 'not before, such as 2026-07-11T10:45:00Z' },
    to: { flags: '--to <time>', text: 'not after' },
    limit: 'number of events, 1 to 100',
    cursor: { flags: '--cursor <sequence>', text: 'only events before this sequence' },
  },
  print(terminal, { items }) {
    printTable(
      terminal,
      [
        { title: 'SEQUENCE', cell: (item) => item.sequence, align: 'right' },
        { title: 'AT', cell: (item) => item.occurredAt },
        { title: 'SUBJECT', cell: (item) => item.subject.subjectId },
        { title: 'ACTION', cell: (item) => item.action },
        { title: 'RESOURCE', cell: (item) => item.resource.resourceId },
        { title: 'OUTCOME', cell: (item) => item.outcome },
        { title: 'CORRELATION ID', cell: (item) => item.correlationId },
      ],
      items,
    );
  },
});
