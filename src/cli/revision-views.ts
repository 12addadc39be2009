/** Terminal views of revisions, differences, backtests and shadow reports. */
import type { Static } from 'typebox';
import type { automation } from '../api/automation.ts';
import type { ruleBacktest } from '../api/backtest.ts';
import type { revisions } from '../api/revisions.ts';
import type { ruleTemplates } from '../api/rule-templates.ts';
import { type TestChanges, testChanges } from '../api/test-changes.ts';
import { printProperties, printTable } from './table.ts';
import { painted, printable, quantity, type Terminal } from './terminal.ts';

type Data<S extends keyof typeof revisions> = Static<(typeof revisions)[S]['answer']>['data'];
type Difference = Data<'difference'>;

export function printRevisions(terminal: Terminal, list: Data<'list'>['list']): void {
  printTable(
    terminal,
    [
      { title: 'REVISION', cell: ({ revision }) => revision, align: 'right' },
      { title: 'AT', cell: ({ at }) => at },
      { title: 'CHANGE', cell: ({ action }) => action?.split('.').at(-1) },
      { title: 'BY', cell: ({ author }) => author?.id },
      { title: 'NAME', cell: ({ name }) => name },
      { title: 'ENABLED', cell: ({ enabled }) => enabled, paint: ({ enabled }) => (enabled ? 'green' : 'dim') },
      { title: 'REASON', cell: ({ reason, restored_from }) => reason ?? (restored_from && `as ${restored_from}`) },
    ],
    list,
  );
}

/** One line per change; empty if the two are equal. */
export function printDifference(
  terminal: Terminal,
  { settings, nodes, wires, actuators, classes, sentence }: Difference,
): void {
  const line: PrintChange = (mark, text) => {
    const paint = { '+': 'green', '-': 'red', '~': 'yellow' } as const;
    terminal.out(`${painted(terminal, paint[mark], mark)} ${printable(text)}\n`);
  };
  const named = ({ id, label }: { readonly id: string; readonly label: string | null }): string =>
    label === null ? id : `${id} (${label})`;
  const change = (before: unknown, after: unknown): string => `${JSON.stringify(before)} → ${JSON.stringify(after)}`;
  for (const { field, before, after } of settings)
    if (field === 'tests') printTestChanges(testChanges(before, after), line);
    else line('~', `${field}: ${change(before, after)}`);
  for (const node of nodes.added) line('+', `node ${named(node)}`);
  for (const node of nodes.removed) line('-', `node ${named(node)}`);
  for (const node of nodes.changed)
    for (const { path, before, after } of node.fields)
      line('~', `node ${named(node)} ${path}: ${change(before, after)}`);
  for (const { from, output, to } of wires.added) line('+', `wire ${from}.${output} → ${to}`);
  for (const { from, output, to } of wires.removed) line('-', `wire ${from}.${output} → ${to}`);
  for (const { instance, point, change: what } of actuators) line('~', `actuator ${instance}:action:${point}: ${what}`);
  if (classes.includes('layout')) line('~', 'layout');
  if (sentence.before !== sentence.after && sentence.after !== null) terminal.out(`${printable(sentence.after)}\n`);
}

type PrintChange = (mark: '+' | '-' | '~', text: string) => void;

function printTestChanges({ added, removed, changed }: TestChanges, line: PrintChange): void {
  for (const name of added) line('+', `test ${name}`);
  for (const name of removed) line('-', `test ${name}`);
  for (const name of changed) line('~', `test ${name}`);
}

export function printBacktest(terminal: Terminal, data: Static<typeof ruleBacktest.run.answer>['data']): void {
  const { agreement, outcomes, first_divergence: divergence } = data;
  const shared = agreement === null ? null : `${agreement.equal} of ${agreement.compared} recorded runs`;
  printProperties(terminal, {
    evaluations: data.evaluations,
    outcomes: Object.entries(outcomes)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
    writes: data.writes
      .map(
        ({ instance, point, counted, changes }) =>
          `${instance}:action:${point} ${quantity(counted, 'time')}, ${quantity(changes.length, 'change')}`,
      )
      .join('; '),
    agreement: shared,
    ...(agreement === null || agreement.refused === 0 ? {} : { refused: `a write in ${agreement.refused} of them` }),
    ...(agreement === null || agreement.unrecorded === 0
      ? {}
      : { unrecorded: `${agreement.unrecorded} simulated runs` }),
    differences: agreement === null ? null : JSON.stringify(agreement.causes),
    first_divergence: divergence === null ? null : divergence.at,
    feedback: data.feedback.map(({ instance, point_type: kind, point }) => `${instance}:${kind}:${point}`).join(', '),
    ...(data.plant === null ? {} : plantProperties(data.plant)),
    coverage: data.coverage.map(({ point, ratio }) => `${referenceOf(point)} ${(100 * ratio).toFixed(1)} %`).join(', '),
    notes: data.notes.join(', '),
    digest: data.digest,
  });
}

/** `4:M:1`, as points are named in answers, as the commands take it: `4:measurement:1`. */
function referenceOf(point: string): string {
  return point.replace(':M:', ':measurement:').replace(':A:', ':action:');
}

function plantProperties(plant: NonNullable<Static<typeof ruleBacktest.run.answer>['data']['plant']>) {
  const { soc, baseline, recorded_soc_error: error } = plant;
  const kwh = (value: number): string => `${value.toFixed(1)} kWh`;
  const energies = (of: NonNullable<typeof baseline>): string =>
    `charged ${kwh(of.charged_kwh)}, discharged ${kwh(of.discharged_kwh)}, imported ${kwh(of.imported_kwh)}, ` +
    `exported ${kwh(of.exported_kwh)}, losses ${kwh(of.losses_kwh)}`;
  return {
    // First, because it limits how far the rest can be trusted.
    recorded_soc_error: error === null ? 'not compared' : `${error.toFixed(2)} %`,
    plant: energies(plant),
    ...(baseline === null ? {} : { plant_before: energies(baseline) }),
    soc_at_end: soc.length === 0 ? null : `${(soc.at(-1)?.value ?? 0).toFixed(1)} %`,
  };
}

export function printShadowReport(
  terminal: Terminal,
  { compared, equal, differences }: Static<typeof automation.shadowReport.answer>['data'],
): void {
  terminal.out(`${equal} of ${compared} runs equal\n`);
  printTable(
    terminal,
    [
      { title: 'AT', cell: ({ at }) => at },
      {
        title: 'ACTUATORS (SHADOW / LIVE)',
        cell: ({ actuators }) =>
          actuators
            .map((each) => `${each.instance}:action:${each.point} ${each.shadow ?? '-'} / ${each.live ?? '-'}`)
            .join(', '),
      },
      { title: 'NODES', cell: ({ nodes }) => nodes.join(', ') },
    ],
    differences,
  );
}

export function printTemplates(
  terminal: Terminal,
  templates: Static<typeof ruleTemplates.list.answer>['data']['templates'],
): void {
  printTable(
    terminal,
    [
      { title: 'TEMPLATE', cell: ({ template }) => template },
      {
        title: 'POINTS',
        cell: ({ points }) => points.map(({ name, unit }) => `${name} (${unit ?? 'any'})`).join(', '),
      },
      {
        title: 'NUMBERS',
        cell: ({ numbers }) => numbers.map(({ name, default: usual }) => `${name} = ${usual}`).join(', '),
      },
      { title: 'ABOUT', cell: ({ about }) => about },
    ],
    templates,
  );
}
