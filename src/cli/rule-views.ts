/** Terminal views of rules, their variables, status and executions. */
import type { Static } from 'typebox';
import type { automation } from '../api/automation.ts';
import { type Cell, type Column, printProperties, printTable } from './table.ts';
import type { Paint, Terminal } from './terminal.ts';

type Data<S extends keyof typeof automation> = Static<(typeof automation)[S]['answer']>['data'];
type Summary = Data<'list'>['list'][number];
type Variable = Data<'variables'>['variables'][number];
type Execution = Data<'history'>['list'][number];
type Status = Data<'status'>;
type StatusPoint = Status['points'][number];

const outcomePaints: Readonly<Record<string, Paint>> = {
  acted: 'green',
  no_action: 'dim',
  skipped: 'yellow',
  failed: 'red',
};

export function printRules(terminal: Terminal, data: Data<'list'>): void {
  const withStatus = data.list.some((rule) => rule.status !== undefined);
  const columns: Column<Summary>[] = [
    { title: 'ID', cell: (rule) => rule.id, align: 'right' },
    { title: 'NAME', cell: (rule) => rule.name },
    {
      title: 'ENABLED',
      cell: (rule) => (rule.enabled && rule.mode === 'shadow' ? 'shadow' : rule.enabled),
      paint: (rule) => (rule.enabled ? 'green' : 'dim'),
    },
    ...(withStatus ? statusColumns : []),
    { title: 'DESCRIPTION', cell: (rule) => rule.description },
  ];
  printTable(terminal, columns, data.list);
}

const statusColumns: readonly Column<Summary>[] = [
  { title: 'STATE', cell: (rule) => rule.status?.state },
  {
    title: 'LAST RUN',
    cell: (rule) => rule.status?.last_run?.outcome,
    paint: (rule) => outcomePaints[rule.status?.last_run?.outcome ?? ''],
  },
];

export function printRule(terminal: Terminal, rule: Data<'get'>): void {
  printProperties(terminal, {
    id: rule.id,
    name: rule.name,
    description: rule.description,
    enabled: rule.enabled,
    mode: rule.mode,
    priority: rule.priority,
    cooldown_ms: rule.cooldown_ms,
    trigger: rule.trigger_config === null ? null : JSON.stringify(rule.trigger_config),
    nodes: nodesOf(rule.nodes_json),
    revision: rule.revision,
    created_at: rule.created_at,
    updated_at: rule.updated_at,
  });
}

/** The nodes of a topology in its order; null for a stub. */
function nodesOf(topology: object): Cell {
  const nodes: unknown = 'nodes' in topology ? topology.nodes : null;
  return typeof nodes === 'object' && nodes !== null ? Object.keys(nodes).join(' → ') : null;
}

export function printVariables(terminal: Terminal, variables: readonly Variable[]): void {
  printTable(
    terminal,
    [
      { title: 'NAME', cell: (variable) => variable.name },
      { title: 'POINT', cell: pointOf },
      { title: 'VALUE', cell: (variable) => variable.value, align: 'right' },
      { title: 'UNIT', cell: (variable) => variable.unit },
      {
        title: 'QUALITY',
        cell: (variable) => variable.quality,
        paint: (variable) => (variable.value === null ? 'red' : 'green'),
      },
      { title: 'OBSERVED AT', cell: (variable) => variable.observed_at },
    ],
    variables,
  );
}

export function printHistory(terminal: Terminal, executions: readonly Execution[]): void {
  printTable(
    terminal,
    [
      { title: 'STARTED AT', cell: (run) => run.started_at },
      { title: 'OUTCOME', cell: (run) => run.outcome, paint: (run) => outcomePaints[run.outcome] },
      { title: 'TRIGGER', cell: (run) => run.trigger.type },
      { title: 'BRANCH', cell: (run) => run.matched_condition },
      { title: 'WROTE', cell: wrote },
      { title: 'ERROR', cell: (run) => run.error?.message },
      { title: 'EXECUTION', cell: (run) => run.execution_id },
    ],
    executions,
  );
}

export function printExecution(terminal: Terminal, data: Data<'execute'>): void {
  const { execution } = data;
  printProperties(terminal, {
    outcome: data.outcome,
    actions: `${data.actions_succeeded} of ${data.actions_attempted} accepted${execution.shadow === true ? ', none sent: shadow' : ''}`,
    branch: execution.matched_condition,
    path: execution.execution_path.join(' → '),
    wrote: wrote(execution),
    values: Object.entries(execution.variable_values)
      .map(([name, value]) => `${name} = ${value ?? 'missing'}`)
      .join(', '),
    error: execution.error?.message,
    execution_id: execution.execution_id,
    correlation_id: execution.correlation_id,
  });
}

export function printStatus(terminal: Terminal, status: Status): void {
  printProperties(terminal, {
    rule_id: status.rule_id,
    enabled: status.enabled,
    mode: status.mode,
    runnable: status.runnable,
    state: status.state,
    reasons: status.reasons.map(({ code }) => code).join(', ') || null,
    last_run: status.last_run === null ? null : `${status.last_run.outcome} at ${status.last_run.started_at}`,
    next_due_at: status.next_due_at,
    cooldown_until: status.cooldown_until,
  });
  if (status.points.length === 0) return;
  terminal.out('\n');
  const columns: Column<StatusPoint>[] = [
    { title: 'POINT', cell: pointOf },
    { title: 'LAST', cell: (point) => point.last_value, align: 'right' },
    { title: 'NOW', cell: (point) => point.current_value, align: 'right' },
    { title: 'DISTANCE', cell: (point) => point.distance, align: 'right' },
    { title: 'THRESHOLD', cell: (point) => point.threshold, align: 'right' },
    { title: 'GAP', cell: (point) => point.gap },
  ];
  printTable(terminal, columns, status.points);
}

function pointOf(point: { readonly instance: number; readonly point_type: string; readonly point: number }): string {
  return `${point.instance}:${point.point} ${point.point_type}`;
}

/** A write in shadow succeeds, but is not sent. */
function sentAs(reason: string | undefined): string {
  return reason === 'shadow' ? ' (shadow, not sent)' : '';
}

function wrote(run: Execution): Cell {
  const texts = run.actions_executed.map(
    (action) =>
      `${action.instance}:${action.point} = ${action.written ?? action.value ?? 'nothing'}${action.success ? sentAs(action.reason) : ` (${action.reason ?? 'failed'})`}`,
  );
  return texts.length === 0 ? null : texts.join(', ');
}
