/** `setpoint rules …` of a running service. */
import { automation } from '../../api/automation.ts';
import { backtestPoints, ruleBacktest } from '../../api/backtest.ts';
import { revisions } from '../../api/revisions.ts';
import { ruleTemplates } from '../../api/rule-templates.ts';
import { CommandError, exitCodes } from '../exit.ts';
import {
  printBacktest,
  printDifference,
  printRevisions,
  printShadowReport,
  printTemplates,
} from '../revision-views.ts';
import { printExecution, printHistory, printRule, printRules, printStatus, printVariables } from '../rule-views.ts';
import { painted, printable, type Terminal } from '../terminal.ts';
import { operationCommand } from './operation-command.ts';
import { testRules } from './rule-tests.ts';

const params = { id: 'the number of a rule' };
const reason = 'why; kept with the revision';
const instanceMembers = {
  points: { flags: '--points <json|file>', text: 'points that differ from those of the rule' },
  numbers: { flags: '--numbers <json|file>', text: 'numbers that differ from those of the rule' },
};

export const ruleCommands = [
  operationCommand('rules list', automation.list, {
    members: {
      page: 'page number, from 1',
      page_size: 'rules per page, 1 to 100',
      enabled: 'only enabled rules, or only disabled ones',
      mode: 'only live rules, or only those in shadow',
      search: 'only rules whose name or description contains it',
      include: { flags: '--status', text: 'with the state of each rule', value: 'status' },
    },
    print: (terminal, { data }) => printRules(terminal, data),
  }),
  operationCommand('rules get', automation.get, {
    params,
    description: 'read one rule',
    more: [['--flow', 'print only its flow document, as `rules update --flow` takes it']],
    print(terminal, { data }, options) {
      if (options['flow'] !== true) printRule(terminal, data);
      else if (data.flow_json === null) throw new CommandError('the rule has no flow document');
      else terminal.out(`${JSON.stringify(data.flow_json, null, 2)}\n`);
    },
  }),
  operationCommand('rules variables', automation.variables, {
    params,
    description: 'the variables of a rule, with live values',
    print: (terminal, { data }) => printVariables(terminal, data.variables),
  }),
  operationCommand('rules status', automation.status, {
    params,
    watch: true,
    print: (terminal, { data }) => printStatus(terminal, data),
  }),
  operationCommand('rules history', automation.history, {
    params,
    description: 'executions of a rule, newest first',
    members: {
      limit: 'number of executions, 1 to 100',
      before: { flags: '--before <execution>', text: 'only executions before this one' },
      from: { flags: '--from <time>', text: 'only executions that started then or later' },
      to: { flags: '--to <time>', text: 'only executions that had started by then' },
      changes: {
        flags: '--changes',
        text: 'only executions that decided otherwise than the one before',
        value: 'true',
      },
      outcome: 'only executions that ended like this',
    },
    print: (terminal, { data }) => printHistory(terminal, data.list),
  }),
  operationCommand('rules create', automation.create, {
    description: 'create a rule, disabled and without a flow',
    members: { name: 'its name', key: 'its name in files', description: 'what it is for', reason },
    change: ({ sent }) => `create the rule "${printable(String(sent['name']))}", disabled,`,
    print: (terminal, { data }) => terminal.out(`created ${data.id} ${printable(data.name)}\n`),
  }),
  operationCommand('rules update', automation.update, {
    params,
    description: 'change a rule; options that you omit do not change',
    members: {
      name: 'its name',
      key: 'its name in files; it never changes again',
      description: { text: 'what it is for', none: 'remove the description' },
      priority: 'higher runs first',
      cooldown_ms: 'minimum pause after a run that wrote something',
      trigger_config: { flags: '--trigger <json|file>', text: 'when it runs', none: 'run at the default interval' },
      flow_json: { flags: '--flow <json|file>', text: 'its flow document; - reads standard input' },
      tests: 'all its tests; [] removes them',
      expected_revision: { flags: '--revision <number>', text: 'refuse if the rule has another revision by now' },
      reason,
    },
    change({ path, sent }) {
      const named = Object.keys(sent).filter((name) => name !== 'expected_revision' && name !== 'reason');
      if (named.length === 0) throw new CommandError('name at least one thing to change', exitCodes.notConfirmed);
      return `change ${named.join(', ')} of rule ${path['id']}`;
    },
    print(terminal, { data }) {
      terminal.out(`updated ${data.id}\n`);
      printWarnings(terminal, data.warnings);
    },
  }),
  operationCommand('rules enable', automation.enable, {
    params,
    members: { mode: 'live, or shadow: run and record, and command nothing', reason },
    change: ({ path, sent }) => `enable rule ${path['id']}${sent['mode'] === 'shadow' ? ' in shadow' : ''}`,
    print(terminal, { data }) {
      terminal.out(`${data.status} ${data.id}\n`);
      printWarnings(terminal, data.warnings ?? []);
    },
  }),
  operationCommand('rules disable', automation.disable, {
    params,
    members: { reason },
    change: ({ path }) => `disable rule ${path['id']}`,
    print: (terminal, { data }) => terminal.out(`${data.status} ${data.id}\n`),
  }),
  operationCommand('rules promote', automation.promote, {
    params,
    members: { reason },
    change: ({ path }) => `let rule ${path['id']} command, which ran in shadow,`,
    print(terminal, { data }) {
      terminal.out(`${data.status} ${data.id}\n`);
      printWarnings(terminal, data.warnings ?? []);
    },
  }),
  operationCommand('rules shadow-report', automation.shadowReport, {
    params,
    description: 'compare the runs of a rule in shadow with those of another rule',
    members: { against: 'the number of the other rule', from: 'RFC 3339 time', to: 'RFC 3339 time' },
    print: (terminal, { data }) => printShadowReport(terminal, data),
  }),
  operationCommand('rules delete', automation.remove, {
    params,
    description: 'delete a rule; its number is not reused',
    members: { reason },
    more: [['--force', 'do not ask; --confirmed is needed all the same']],
    change: ({ path }) => `delete rule ${path['id']} with its flow`,
    question: ({ id }, { force }) => (force === true ? undefined : `Delete rule ${id}?`),
    print: (terminal, { data }) => terminal.out(`deleted ${data.id}\n`),
  }),
  operationCommand('rules revisions', revisions.list, {
    params,
    description: 'the revisions of a rule, newest first; also of a deleted one',
    members: {
      limit: 'number of revisions, 1 to 100',
      before: { flags: '--before <revision>', text: 'only revisions below this one' },
    },
    print: (terminal, { data }) => printRevisions(terminal, data.list),
  }),
  operationCommand('rules revision', revisions.get, {
    params: { ...params, revision: 'the number of a revision' },
    description: 'read a revision of a rule',
    print: (terminal, { data }) => printRule(terminal, data.document),
  }),
  operationCommand('rules diff', revisions.difference, {
    params,
    members: { from: 'the older revision', to: 'the newer revision; the newest by default' },
    print: (terminal, { data }) => printDifference(terminal, data),
  }),
  operationCommand('rules diff-draft', revisions.draftDifference, {
    params,
    members: {
      from: 'the revision to compare with; the newest by default',
      flow_json: { flags: '--flow <json|file>', text: 'its flow document; - reads standard input' },
      trigger_config: { flags: '--trigger <json|file>', text: 'when it runs', none: 'run at the default interval' },
      description: { text: 'what it is for', none: 'remove the description' },
      priority: 'higher runs first',
      cooldown_ms: 'minimum pause after a run that wrote something',
      tests: 'all its tests; [] for none',
    },
    print: (terminal, { data }) => printDifference(terminal, data),
  }),
  operationCommand('rules restore', revisions.restore, {
    params,
    members: {
      revision: { flags: '--revision <number>', text: 'the revision to go back to' },
      expected_revision: 'refuse if the rule has another revision by now',
      reason,
    },
    change: ({ path, sent }) => `take rule ${path['id']} back to its revision ${String(sent['revision'])}`,
    print(terminal, { data }) {
      terminal.out(`${data.status} ${data.id} as revision ${data.revision}\n`);
      printWarnings(terminal, data.warnings);
    },
  }),
  operationCommand('rules duplicate', revisions.duplicate, {
    params,
    members: { name: 'the name of the copy', reason },
    change: ({ path, sent }) => `create the rule "${printable(String(sent['name']))}" as a copy of rule ${path['id']}`,
    print: (terminal, { data }) => terminal.out(`created ${data.id} ${printable(data.name)}\n`),
  }),
  operationCommand('rules backtest', ruleBacktest.run, {
    params,
    members: {
      from: 'RFC 3339 time: the first tick',
      to: 'RFC 3339 time: the end',
      mode: 'recorded: over recorded values; replay: over the inputs of recorded runs; plant: with an assumed battery',
      assume: {
        flags: '--assume <json|file>',
        text: 'the battery, load and PV of the mode plant, as in the guide',
      },
      revision: 'a revision instead of the stored rule',
      flow_json: {
        flags: '--flow <json|file>',
        text: 'a flow document instead of the stored one; - reads standard input',
      },
      trigger_config: { flags: '--trigger <json|file>', text: 'another trigger', none: 'the default interval' },
      compare: {
        flags: '--compare <json|file>',
        text: 'what to compare with, such as {"revision":3}; the stored rule by default',
      },
      priority: 'another priority',
      cooldown_ms: 'another minimum pause after a run that wrote something',
      max_points: `points of each series in the answer, 1 to ${backtestPoints.most}; ${backtestPoints.standard} by default`,
    },
    print: (terminal, { data }) => printBacktest(terminal, data),
  }),
  testRules,
  operationCommand('rules templates', ruleTemplates.list, {
    members: { rule: { flags: '--rule <number>', text: 'this rule as a template' } },
    print: (terminal, { data }) => printTemplates(terminal, data.templates),
  }),
  operationCommand('rules instantiate', ruleTemplates.instantiate, {
    members: {
      template: 'a template, or rule:<number>',
      name: 'the name of the new rule',
      points: {
        flags: '--points <json|file>',
        text: 'a point for each parameter, such as {"soc":{"instance":4,"point_type":"measurement","point":1}}',
      },
      numbers: { flags: '--numbers <json|file>', text: 'numbers that differ from their defaults' },
      reason,
    },
    change: ({ sent }) =>
      `create the rule "${printable(String(sent['name']))}" from ${String(sent['template'])}, disabled,`,
    print(terminal, { data }) {
      terminal.out(`created ${data.id} ${printable(data.name)}\n`);
      printWarnings(terminal, data.warnings);
    },
  }),
  operationCommand('rules template-diff', ruleTemplates.difference, {
    params,
    description: 'what an update of a rule from its template would change',
    members: instanceMembers,
    print: (terminal, { data }) => printDifference(terminal, data.difference),
  }),
  operationCommand('rules template-update', ruleTemplates.update, {
    params,
    members: { ...instanceMembers, expected_revision: 'refuse if the rule has another revision by now', reason },
    change: ({ path }) => `update rule ${path['id']} from its template`,
    print(terminal, { data }) {
      terminal.out(`${data.status} ${data.id} to version ${data.version}\n`);
      printWarnings(terminal, data.warnings);
    },
  }),
  operationCommand('rules execute', automation.execute, {
    params,
    description: 'run a rule once, now, with real effects; exits 1 when the run does not succeed',
    change: ({ path }) =>
      `run rule ${path['id']} once, regardless of its trigger, and send its commands to the devices`,
    print: (terminal, { data }) => printExecution(terminal, data),
    failure: ({ data }) => (data.execution.success ? undefined : `the run ended as ${data.outcome}`),
  }),
];

function printWarnings(terminal: Terminal, warnings: readonly { readonly code: string }[]): void {
  for (const warning of warnings)
    terminal.out(`${painted(terminal, 'yellow', 'warning')} ${printable(textOf(warning))}\n`);
}

function textOf(warning: { readonly code: string; readonly message?: unknown }): string {
  return typeof warning.message === 'string' ? `${warning.code}: ${warning.message}` : warning.code;
}
