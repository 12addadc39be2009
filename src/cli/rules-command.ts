/** `setpoint rules …` of a running service [platform §7]: a line of arguments becomes one call, its answer a table or JSON. */
import { type Command, Option } from 'commander';
import { automation } from '../api/automation.ts';
import {
  type CommandLine,
  confirmedOption,
  digits,
  type JsonOption,
  jsonObject,
  jsonOption,
  printJson,
  ruleId,
  wholeNumber,
} from './command-line.ts';
import { CommandError, exitCodes } from './exit.ts';
import { change } from './remote.ts';
import { printExecution, printHistory, printRule, printRules, printStatus, printVariables } from './rule-views.ts';
import { painted, printable, type Terminal } from './terminal.ts';
import { showing, watchOption, watchSeconds } from './watch.ts';

interface Confirmed extends JsonOption {
  readonly confirmed?: true;
}

export function addRulesCommands(rules: Command, line: CommandLine): void {
  addReads(rules, line);
  addCreate(rules, line);
  addUpdate(rules, line);
  addSwitch(rules, line, 'enable', 'let the scheduler run a rule');
  addSwitch(rules, line, 'disable', 'stop the scheduler from running a rule');
  addDelete(rules, line);
  addExecute(rules, line);
}

interface ListOptions extends JsonOption {
  readonly page?: string;
  readonly pageSize?: string;
  readonly enabled?: 'true' | 'false';
  readonly search?: string;
  readonly status?: true;
}

function addReads(rules: Command, line: CommandLine): void {
  const { terminal } = line;
  rules
    .command('list')
    .description('list rules, highest priority first')
    .option('--page <number>', 'which page, from 1', digits)
    .option('--page-size <number>', 'rules on a page, 1 to 100', digits)
    .addOption(new Option('--enabled <which>', 'only rules that are enabled, or not').choices(['true', 'false']))
    .option('--search <text>', 'only rules whose name or description has it')
    .option('--status', 'with the state of each rule')
    .option(...jsonOption)
    .action(async (options: ListOptions) => {
      const query = {
        ...(options.page === undefined ? {} : { page: options.page }),
        ...(options.pageSize === undefined ? {} : { page_size: options.pageSize }),
        ...(options.enabled === undefined ? {} : { enabled: options.enabled }),
        ...(options.search === undefined ? {} : { search: options.search }),
        ...(options.status === undefined ? {} : { include: 'status' as const }),
      };
      const { data } = await line.remote().call(automation.list, { query });
      if (options.json === true) printJson(terminal, data.data);
      else printRules(terminal, data.data);
    });
  rules
    .command('get')
    .description('read one rule')
    .argument('<id>', 'number of the rule', ruleId)
    .option('--flow', 'print only its flow document, as `rules update --flow` takes it')
    .option(...jsonOption)
    .action(async (id: string, options: JsonOption & { readonly flow?: true }) => {
      const { data } = await line.remote().call(automation.get, { params: { id } });
      if (options.flow === true) printFlow(line, data.data.flow_json);
      else if (options.json === true) printJson(terminal, data.data);
      else printRule(terminal, data.data);
    });
  rules
    .command('variables')
    .description('what a rule reads, with live values')
    .argument('<id>', 'number of the rule', ruleId)
    .option(...jsonOption)
    .action(async (id: string, options: JsonOption) => {
      const { data } = await line.remote().call(automation.variables, { params: { id } });
      if (options.json === true) printJson(terminal, data.data);
      else printVariables(terminal, data.data.variables);
    });
  rules
    .command('status')
    .description('why a rule is not running now')
    .argument('<id>', 'number of the rule', ruleId)
    .option(watchOption, 'again every 2 seconds, or as often as you say', watchSeconds)
    .option(...jsonOption)
    .action(async (id: string, options: JsonOption & { readonly watch?: number | true }) => {
      const remote = line.remote();
      await showing(line, options.watch, async () => {
        const { data } = await remote.call(automation.status, { params: { id } });
        if (options.json === true) printJson(terminal, data.data);
        else printStatus(terminal, data.data);
      });
    });
  rules
    .command('history')
    .description('executions of a rule, newest first')
    .argument('<id>', 'number of the rule', ruleId)
    .option('--limit <number>', 'how many, 1 to 100', digits)
    .option('--before <execution>', 'only those before this execution')
    .option(...jsonOption)
    .action(async (id: string, options: JsonOption & { readonly limit?: string; readonly before?: string }) => {
      const query = {
        ...(options.limit === undefined ? {} : { limit: options.limit }),
        ...(options.before === undefined ? {} : { before: options.before }),
      };
      const { data } = await line.remote().call(automation.history, { params: { id }, query });
      if (options.json === true) printJson(terminal, data.data);
      else printHistory(terminal, data.data.list);
    });
}

function printFlow({ terminal }: CommandLine, flow: object | null): void {
  if (flow === null) throw new CommandError('the rule has no flow document');
  terminal.out(`${JSON.stringify(flow, null, 2)}\n`);
}

function addCreate(rules: Command, line: CommandLine): void {
  rules
    .command('create')
    .description('create a rule: a disabled one without a flow')
    .requiredOption('--name <text>', 'its name')
    .option('--description <text>', 'what it is for')
    .option(...confirmedOption)
    .option(...jsonOption)
    .action(async (options: Confirmed & { readonly name: string; readonly description?: string }) => {
      const { name, description } = options;
      const { data } = await change(line.remote(), line.terminal, {
        capability: automation.create,
        input: { body: { name, ...(description === undefined ? {} : { description }) } },
        what: `create the rule "${printable(name)}", disabled,`,
        confirmed: options.confirmed === true,
      });
      if (options.json === true) printJson(line.terminal, data.data);
      else line.terminal.out(`created ${data.data.id} ${printable(data.data.name)}\n`);
    });
}

interface UpdateOptions extends Confirmed {
  readonly name?: string;
  /** False clears it. */
  readonly description?: string | false;
  readonly priority?: number;
  readonly cooldownMs?: number;
  readonly trigger?: string | false;
  readonly flow?: string;
  readonly revision?: number;
}

function addUpdate(rules: Command, line: CommandLine): void {
  rules
    .command('update')
    .description('change a rule; what is not named stays as it is')
    .argument('<id>', 'number of the rule', ruleId)
    .option('--name <text>', 'its name')
    .option('--description <text>', 'what it is for')
    .option('--no-description', 'remove the description')
    .option('--priority <number>', 'higher runs first', wholeNumber)
    .option('--cooldown-ms <number>', 'smallest time between two runs that acted', wholeNumber)
    .option('--trigger <json|file>', 'when it runs')
    .option('--no-trigger', 'run at the default interval')
    .option('--flow <json|file>', 'its flow document; - reads standard input')
    .option('--revision <number>', 'refuse when the rule has another revision by now', wholeNumber)
    .option(...confirmedOption)
    .option(...jsonOption)
    .action(async (id: string, options: UpdateOptions) => {
      const { terminal } = line;
      const body = bodyOf(options);
      const named = Object.keys(body);
      if (named.length === 0) throw new CommandError('name at least one thing to change', exitCodes.notConfirmed);
      const { data } = await change(line.remote(), terminal, {
        capability: automation.update,
        input: {
          params: { id },
          body,
          ...(options.revision === undefined ? {} : { expectedRevision: options.revision }),
        },
        what: `change ${named.join(', ')} of rule ${id}`,
        confirmed: options.confirmed === true,
      });
      if (options.json === true) return printJson(terminal, data.data);
      terminal.out(`updated ${data.data.id}\n`);
      printWarnings(terminal, data.data.warnings);
    });
}

function bodyOf(options: UpdateOptions) {
  const { name, description, priority, cooldownMs, trigger, flow } = options;
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description: description === false ? null : description }),
    ...(priority === undefined ? {} : { priority }),
    ...(cooldownMs === undefined ? {} : { cooldown_ms: cooldownMs }),
    ...(trigger === undefined ? {} : { trigger_config: trigger === false ? null : jsonObject(trigger) }),
    ...(flow === undefined ? {} : { flow_json: jsonObject(flow) }),
  };
}

function textOf(warning: { readonly code: string; readonly message?: unknown }): string {
  return typeof warning.message === 'string' ? `${warning.code}: ${warning.message}` : warning.code;
}

function addSwitch(rules: Command, line: CommandLine, name: 'enable' | 'disable', description: string): void {
  const { terminal } = line;
  rules
    .command(name)
    .description(description)
    .argument('<id>', 'number of the rule', ruleId)
    .option(...confirmedOption)
    .option(...jsonOption)
    .action(async (id: string, options: Confirmed) => {
      const order = { input: { params: { id } }, what: `${name} rule ${id}`, confirmed: options.confirmed === true };
      if (name === 'disable') {
        const { data } = await change(line.remote(), terminal, { ...order, capability: automation.disable });
        return printSwitched(line, options, data.data, []);
      }
      const { data } = await change(line.remote(), terminal, { ...order, capability: automation.enable });
      printSwitched(line, options, data.data, data.data.warnings ?? []);
    });
}

function printSwitched(
  { terminal }: CommandLine,
  options: JsonOption,
  data: { readonly id: number; readonly status: string },
  warnings: readonly { readonly code: string }[],
): void {
  if (options.json === true) return printJson(terminal, data);
  terminal.out(`${data.status} ${data.id}\n`);
  printWarnings(terminal, warnings);
}

function printWarnings(terminal: Terminal, warnings: readonly { readonly code: string }[]): void {
  for (const warning of warnings)
    terminal.out(`${painted(terminal, 'yellow', 'warning')} ${printable(textOf(warning))}\n`);
}

function addDelete(rules: Command, line: CommandLine): void {
  rules
    .command('delete')
    .description('delete a rule; its number is never used again')
    .argument('<id>', 'number of the rule', ruleId)
    .option('--force', 'do not ask; --confirmed is needed all the same')
    .option(...confirmedOption)
    .option(...jsonOption)
    .action(async (id: string, options: Confirmed & { readonly force?: true }) => {
      const { data } = await change(line.remote(), line.terminal, {
        capability: automation.remove,
        input: { params: { id } },
        what: `delete rule ${id} with its flow for good`,
        confirmed: options.confirmed === true,
        ...(options.force === true ? {} : { question: `Delete rule ${id} for good?` }),
      });
      if (options.json === true) printJson(line.terminal, data.data);
      else line.terminal.out(`deleted ${id}\n`);
    });
}

function addExecute(rules: Command, line: CommandLine): void {
  const { terminal } = line;
  rules
    .command('execute')
    .description('run a rule once, now, with real effects; exits 1 when the run did not succeed')
    .argument('<id>', 'number of the rule', ruleId)
    .option(...confirmedOption)
    .option(...jsonOption)
    .action(async (id: string, options: Confirmed) => {
      const { data } = await change(line.remote(), terminal, {
        capability: automation.execute,
        input: { params: { id } },
        what: `run rule ${id} once, whatever its trigger, and send its commands to the devices`,
        confirmed: options.confirmed === true,
      });
      const { execution, outcome } = data.data;
      if (options.json === true) printJson(terminal, data.data);
      else printExecution(terminal, data.data);
      if (!execution.success) throw new CommandError(`the run ended as ${outcome}`);
    });
}
