/** `setpoint site changes|reload|…` [points §1.3]: the site file of a running service. */
import type { Static } from 'typebox';
import { site } from '../../api/site.ts';
import { printable, quantity, type Terminal } from '../terminal.ts';
import { operationCommand } from './operation-command.ts';

type Changes = Omit<Static<(typeof site)['changes']['answer']>['data'], 'issues' | 'warnings'>;
type Difference = Static<(typeof site)['addPoints']['answer']>['data']['difference'];

function printChanges(terminal: Terminal, { sections, ...lists }: Changes): void {
  for (const [name, { added, changed }] of Object.entries(lists)) {
    if (added.length > 0) terminal.out(`${name} added: ${added.join(' ')}\n`);
    if (changed.length > 0) terminal.out(`${name} changed: ${changed.join(' ')}\n`);
  }
  if (sections.length > 0) terminal.out(`changed: ${sections.join(' ')}\n`);
}

function isEmpty({ sections, ...lists }: Changes): boolean {
  return (
    sections.length === 0 && Object.values(lists).every(({ added, changed }) => added.length + changed.length === 0)
  );
}

function printWarnings(terminal: Terminal, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.error(`setpoint: warning: ${printable(warning)}\n`);
}

function printDifference(terminal: Terminal, { line, removed, added }: Difference): void {
  terminal.out(`site.yaml, line ${line}\n`);
  for (const text of removed) terminal.out(`- ${text}\n`);
  for (const text of added) terminal.out(`+ ${text}\n`);
}

const pointMembers = {
  instance: 'number of the instance that the points belong to',
  instance_name: 'name of the instance, if the site has none of this number',
  points: 'the points as JSON, each as in site.yaml',
};

export const siteCommands = [
  operationCommand('site changes', site.changes, {
    description: 'list what `site reload` would change in a running service',
    print(terminal, { data }) {
      const { issues: _, warnings, ...changes } = data;
      if (isEmpty(changes)) terminal.out('no changes\n');
      printChanges(terminal, changes);
      printWarnings(terminal, warnings);
    },
    failure: ({ data: { issues } }) => (issues.length === 0 ? undefined : issues.join('\n')),
  }),
  operationCommand('site reload', site.reload, {
    description: 'apply a changed site.yaml, and renewed certificates of channels, without a restart',
    change: () => 'apply the changes of site.yaml to the running service; `setpoint site changes` lists them',
    print(terminal, { data: { rules, warnings, ...changes } }) {
      if (isEmpty(changes)) terminal.out('no changes\n');
      printChanges(terminal, changes);
      printWarnings(terminal, warnings);
      if (rules !== null) terminal.out(`rules loaded: ${rules.rules_loaded}\n`);
      for (const { id, code } of rules?.rules_failed ?? []) terminal.out(`failed: rule ${id} ${code}\n`);
    },
  }),
  operationCommand('site preview-points', site.previewPoints, {
    description: 'show the lines that `site add-points` would add to site.yaml',
    members: pointMembers,
    print: (terminal, { data: { difference, warnings } }) => {
      printDifference(terminal, difference);
      printWarnings(terminal, warnings);
    },
    failure: ({ data: { issues } }) => (issues.length === 0 ? undefined : issues.join('\n')),
  }),
  operationCommand('site add-points', site.addPoints, {
    description: 'add points to the site.yaml of a running service',
    members: { ...pointMembers, revision: 'of the preview; refused if the file has changed since' },
    change: ({ sent: { points } }) =>
      `add ${quantity(Array.isArray(points) ? points.length : 0, 'point')} to site.yaml`,
    print: (terminal, { data: { difference } }) => printDifference(terminal, difference),
  }),
];
