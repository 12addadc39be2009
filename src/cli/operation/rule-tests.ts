/** `setpoint rules test`: the tests of stored rules, or of the rules of a file before they are imported [rules §11]. */
import Type, { type Static } from 'typebox';
import { automation } from '../../api/automation.ts';
import type { CallInput } from '../../api/client.ts';
import { ruleTests } from '../../api/rule-tests.ts';
import { decoder } from '../../base/decode.ts';
import { type CommandLine, jsonObject, jsonOption, printJson, wholeNumber } from '../command-line.ts';
import { CommandError } from '../exit.ts';
import { painted, printable, type Terminal } from '../terminal.ts';
import type { OperationCommand } from './operation-command.ts';

/** The members that a rule file needs for its tests; the service validates the rules themselves. */
const decodeFile = decoder(
  Type.Object({
    schema: Type.Literal('svc.rules.v1'),
    rules: Type.Array(
      Type.Object({
        name: Type.String(),
        flow_json: Type.Optional(Type.Union([Type.Object({}), Type.Null()])),
        nodes_json: Type.Optional(Type.Object({})),
        tests: Type.Optional(Type.Array(Type.Unknown())),
      }),
    ),
  }),
);

type Call = CallInput<typeof ruleTests.run>;

interface TestRun {
  readonly name: string;
  readonly input: Call;
}

interface TestRunResult {
  readonly name: string;
  readonly data: Static<typeof ruleTests.run.answer>['data'];
}

interface Options {
  readonly all?: true;
  readonly rule?: number;
  readonly json?: true;
}

export const testRules: OperationCommand = {
  words: 'rules test',
  capability: ruleTests.run,
  addTo(parent, line) {
    parent
      .command('test')
      .description('run the tests of rules; exits 1 when one fails, and sends nothing to any device')
      .argument('[file]', 'rules that are not stored, as `setpoint rules export` writes them; - reads standard input')
      .option('--all', 'the tests of all stored rules')
      .option('--rule <number>', 'the tests of one stored rule', wholeNumber)
      .option(...jsonOption)
      .action(async (file: string | undefined, options: Options) => {
        const runs = await runsOf(line, file, options);
        const results: TestRunResult[] = [];
        for (const { name, input } of runs) {
          const { data } = await line.remote().call(ruleTests.run, input);
          results.push({ name, data: data.data });
        }
        if (options.json === true) printJson(line.terminal, results);
        else printResults(line.terminal, results);
        const failed = results.reduce((sum, { data }) => sum + data.failed, 0);
        if (failed > 0) throw new CommandError(`${failed} ${failed === 1 ? 'test fails' : 'tests fail'}`);
      });
  },
};

async function runsOf(line: CommandLine, file: string | undefined, { all, rule }: Options): Promise<TestRun[]> {
  if ([file, all, rule].filter((given) => given !== undefined).length !== 1)
    throw new CommandError('give one of a file, --all and --rule');
  if (file !== undefined) return runsOfFile(file);
  if (rule !== undefined) return [{ name: `rule ${rule}`, input: callWith({ rule_id: rule }) }];
  return allRules(line);
}

function runsOfFile(file: string): TestRun[] {
  const decoded = decodeFile(jsonObject(file));
  if (!decoded.ok)
    throw new CommandError(decoded.issues.map(({ path, message }) => `${file}: ${path || '/'} ${message}`).join('\n'));
  return decoded.value.rules.flatMap(({ name, flow_json, nodes_json, tests = [] }) => {
    if (flow_json !== undefined && flow_json !== null) return [{ name, input: callWith({ flow_json, tests }) }];
    // A rule without a flow, exported as `{}`, has nothing to test.
    if (nodes_json === undefined || Object.keys(nodes_json).length === 0) return [];
    return [{ name, input: callWith({ nodes_json, tests }) }];
  });
}

/** The content of a file is sent unchanged. */
function callWith(body: Readonly<Record<string, unknown>>): Call {
  return { params: {}, query: {}, body };
}

async function allRules(line: CommandLine): Promise<TestRun[]> {
  const runs: TestRun[] = [];
  for (let page = 1, more = true; more; page++) {
    const query = { page: String(page), page_size: '100' };
    const { data } = await line.remote().call(automation.list, { params: {}, query });
    for (const { id, name } of data.data.list) runs.push({ name: `${id} ${name}`, input: callWith({ rule_id: id }) });
    more = data.data.has_next;
  }
  return runs;
}

function printResults(terminal: Terminal, results: readonly TestRunResult[]): void {
  for (const { name, data } of results) {
    terminal.out(`${printable(name)}${data.results.length === 0 ? ': no tests' : ''}\n`);
    for (const { name: test, passed, differences, error } of data.results) {
      const mark = passed ? painted(terminal, 'green', 'passed') : painted(terminal, 'red', 'failed');
      terminal.out(`  ${mark} ${printable(test)}\n`);
      for (const { field, expected, actual } of differences)
        terminal.out(
          `         ${printable(`${field}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)}\n`,
        );
      if (!passed && error !== null) terminal.out(`         ${printable(error)}\n`);
    }
  }
}
