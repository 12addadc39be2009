/**
 * A command derived from an operation's descriptor [platform §7]: path parameters become arguments, members of query and body
 * options, and a mutation needs `--confirmed`. A view adds what the descriptor lacks: shorter flags, and
 * the table for a person.
 */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { Static } from 'typebox';
import type { Capability } from '../../api/capability.ts';
import type { CallInput } from '../../api/client.ts';
import { bodyObject, membersOf, type PlainSchema } from '../../api/plain-schema.ts';
import {
  type CommandLine,
  confirmedOption,
  finiteNumber,
  jsonList,
  jsonObject,
  jsonOption,
  printJson,
  wholeNumber,
} from '../command-line.ts';
import { CommandError } from '../exit.ts';
import { change } from '../remote.ts';
import { painted, type Terminal } from '../terminal.ts';
import { showing, watchOption, watchSeconds } from '../watch.ts';

type Values = Readonly<Record<string, unknown>>;
type Path = Readonly<Record<string, string>>;

/** The option for a member of query or body, if its name and schema do not determine it. */
interface MemberView {
  /** Default: `--page-size <number>` for `page_size`. */
  readonly flags?: string;
  readonly text: string;
  /** The value of a flag without argument. */
  readonly value?: unknown;
  /** The help of `--no-…`, for a member that may be null. */
  readonly none?: string;
}

export interface OperationView<C extends Capability> {
  /** Default: the descriptor's summary. */
  readonly description?: string;
  /** Names of the path parameters in the help. */
  readonly params?: Readonly<Record<string, string>>;
  /** Members of query and body in the order of the help; unnamed ones come last. */
  readonly members?: Readonly<Record<string, string | MemberView>>;
  /** Options of the command alone. */
  readonly more?: readonly (readonly [flags: string, text: string])[];
  /** Offers `--watch`. */
  readonly watch?: true;
  /** For a mutation: completes "This would …"; null if it needs no `--confirmed`. */
  readonly change?: ((given: { readonly path: Path; readonly sent: Values }) => string) | null;
  /** Prompt at a terminal before the change. */
  readonly question?: (path: Path, options: Values) => string | undefined;
  readonly print: (terminal: Terminal, answer: Static<C['answer']>, options: Values) => void;
  /** The reason for exit code 1 despite an answer of the service. */
  readonly failure?: (answer: Static<C['answer']>) => string | undefined;
}

export interface OperationCommand {
  /** After `setpoint`, such as `rules list`. */
  readonly words: string;
  readonly capability: Capability;
  addTo(parent: Command, line: CommandLine): void;
}

interface Member {
  readonly name: string;
  readonly place: 'query' | 'body';
  /** Without null. */
  readonly schema: PlainSchema;
  readonly nullable: boolean;
  readonly required: boolean;
}

export function operationCommand<const C extends Capability>(
  words: string,
  capability: C,
  view: OperationView<C>,
): OperationCommand {
  const params = Object.entries(membersOf(capability.params).properties);
  return {
    words,
    capability,
    addTo(parent, line) {
      const command = parent.command(words.split(' ').at(-1) ?? words);
      command.description(view.description ?? lowerFirst(capability.summary));
      for (const [name, schema] of params)
        command.addArgument(argumentOf(name, schema, view.params?.[name] ?? described(schema)));
      const senders = membersOfCall(capability, view).map((member) => addMember(command, member, view));
      for (const [flags, text] of view.more ?? []) command.option(flags, text);
      if (view.watch) command.option(watchOption, 'again every 2 seconds, or as often as you say', watchSeconds);
      if (capability.kind === 'command') command.addOption(confirmedBy(view));
      command.option(...jsonOption);
      command.action(async (...given: readonly unknown[]) => {
        const options = given[params.length] as Values;
        const path = Object.fromEntries(params.map(([name], index) => [name, String(given[index])]));
        const sent = { query: {}, body: {} };
        for (const send of senders) send(options, sent);
        const answer = await asking(capability, view, line, { path, ...sent }, options);
        await showing(line, options['watch'] as number | true | undefined, async () =>
          show(view, line, await answer(), options),
        );
      });
    },
  };
}

interface Sent {
  readonly query: Record<string, unknown>;
  readonly body: Record<string, unknown>;
}

/** The prepared call, which can be repeated. */
async function asking<C extends Capability>(
  capability: C,
  { change: wording, question }: OperationView<C>,
  line: CommandLine,
  { path, query, body }: Sent & { readonly path: Path },
  options: Values,
): Promise<() => Promise<Static<C['answer']>>> {
  // A change that is confirmed by the header alone has no body when no member is given; a question always has its body.
  const isBare = capability.kind === 'command' && capability.confirmedIn === 'header' && Object.keys(body).length === 0;
  const hasBody = capability.body !== null && !isBare;
  // The options come from the descriptor's schemas; the service validates their values.
  const input = { params: path, query, ...(hasBody ? { body } : {}) } as unknown as CallInput<C>;
  const remote = line.remote();
  if (capability.kind === 'query') return async () => (await remote.call(capability, input)).data;
  const asked = question?.(path, options);
  const { data } = await change(remote, line.terminal, {
    capability,
    input,
    what: wording?.({ path, sent: body }) ?? lowerFirst(capability.summary),
    confirmed: wording === null || options['confirmed'] === true,
    ...(asked === undefined ? {} : { question: asked }),
  });
  return () => Promise.resolve(data);
}

function show<C extends Capability>(
  { print, failure }: OperationView<C>,
  { terminal }: CommandLine,
  answer: Static<C['answer']>,
  options: Values,
): void {
  if (options['json'] === true) printJson(terminal, withoutEnvelope(answer));
  else {
    print(terminal, answer, options);
    sayWhatIsLeft(terminal, withoutEnvelope(answer), options);
  }
  const failed = failure?.(answer);
  if (failed !== undefined) throw new CommandError(failed);
}

/** Options that select a part of a list: with one of them, a program needs no notice. */
const partOptions = ['page', 'pageSize', 'limit', 'before', 'cursor'];

/** Names the option for the next part of a list; in a pipe on standard error. */
function sayWhatIsLeft(terminal: Terminal, answer: unknown, options: Values): void {
  const left = typeof answer === 'object' && answer !== null ? whatIsLeft(answer) : null;
  if (left === null) return;
  if (terminal.outIsTerminal) terminal.out(painted(terminal, 'dim', `${left}\n`));
  else if (isEmptyPart(answer) || partOptions.every((name) => options[name] === undefined)) terminal.error(`${left}\n`);
}

/** The members by which the API's lists show that more entries follow. */
interface Part {
  readonly has_next?: boolean;
  readonly page?: number;
  readonly total_pages?: number;
  readonly total?: number;
  readonly next_before?: string | number | null;
  readonly nextCursor?: string | null;
}

function whatIsLeft(part: Part): string | null {
  const { has_next, page = 1, total_pages, total, next_before, nextCursor } = part;
  if (has_next === true) return `page ${page} of ${total_pages}, ${total} in all: --page ${page + 1} has the next`;
  if (typeof next_before === 'string' || typeof next_before === 'number')
    return isEmptyPart(part)
      ? `none found yet: --before ${next_before} searches on`
      : `there are more: --before ${next_before}`;
  return typeof nextCursor === 'string' ? `there are more: --cursor ${nextCursor}` : null;
}

/** A filtered page searches a limited number of entries and may find none. */
function isEmptyPart(part: unknown): boolean {
  return (
    typeof part === 'object' && part !== null && 'list' in part && Array.isArray(part.list) && part.list.length === 0
  );
}

function withoutEnvelope(answer: unknown): unknown {
  return typeof answer === 'object' && answer !== null && 'success' in answer && 'data' in answer
    ? answer.data
    : answer;
}

function membersOfCall<C extends Capability>(capability: Capability, { members = {} }: OperationView<C>): Member[] {
  const body = bodyObject(capability.body);
  const all = [
    ...read(membersOf(capability.query), 'query'),
    ...(body === null ? [] : read(membersOf(body), 'body')),
  ].filter(({ name }) => name !== 'confirmed');
  const order = Object.keys(members);
  const unknown = order.filter((name) => !all.some((member) => member.name === name));
  if (unknown.length > 0) throw new Error(`${capability.name} has no ${unknown.join()}`);
  const rank = ({ name }: Member): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return all.toSorted((one, other) => rank(one) - rank(other));
}

function read({ properties, required }: ReturnType<typeof membersOf>, place: Member['place']): Member[] {
  return Object.entries(properties).map(([name, given]) => {
    const branches = Array.isArray(given['anyOf']) ? (given['anyOf'] as PlainSchema[]) : [given];
    const real = branches.filter((branch) => branch['type'] !== 'null');
    const [only = given] = real;
    const schema = real.length === 1 ? only : { ...given, enum: real.map((branch) => branch['const']) };
    return { name, place, schema, nullable: real.length < branches.length, required: required.includes(name) };
  });
}

/** Adds the option for a member; returns the function that adds its value to the call. */
function addMember<C extends Capability>(
  command: Command,
  member: Member,
  { members = {} }: OperationView<C>,
): (options: Values, sent: Sent) => void {
  const given = members[member.name];
  const view: MemberView = typeof given === 'string' ? { text: given } : (given ?? { text: described(member.schema) });
  const [kind, parse] = valueOf(member.schema);
  const option = new Option(
    view.flags ?? `--${member.name.replaceAll('_', '-').replace(/[A-Z]/g, lowered)} <${kind}>`,
    view.text,
  );
  const choices = member.schema['enum'];
  if (Array.isArray(choices) && view.value === undefined) option.choices(choices.map(String));
  else if (view.value === undefined && parse !== undefined) option.argParser(parse);
  command.addOption(option.makeOptionMandatory(member.required));
  if (view.none !== undefined) command.option(`--no-${option.name()}`, view.none);
  const key = option.attributeName();
  return (options, sent) => {
    const value = options[key];
    if (value === undefined) return;
    sent[member.place][member.name] = value === false ? null : (view.value ?? value);
  };
}

/** The placeholder of a value in the help, and its parser. */
function valueOf(schema: PlainSchema): readonly [string, ((text: string) => unknown)?] {
  if (schema['type'] === 'integer') return ['number', wholeNumber];
  if (schema['type'] === 'number') return ['number', finiteNumber];
  if (schema['type'] === 'object') return ['json|file', jsonObject];
  if (schema['type'] === 'array') return ['json|file', jsonList];
  if (isDigits(schema)) return ['number', (text) => String(wholeNumber(text))];
  return ['text'];
}

function isDigits({ pattern }: PlainSchema): boolean {
  if (typeof pattern !== 'string') return false;
  const accepted = new RegExp(pattern, 'u');
  return accepted.test('7') && !accepted.test('x');
}

function argumentOf(name: string, { pattern }: PlainSchema, text: string): Argument {
  return new Argument(`<${name}>`, text).argParser((given: string) => {
    if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(given))
      throw new InvalidArgumentError(`Give ${text}.`);
    return given;
  });
}

function confirmedBy<C extends Capability>({ change: wording }: OperationView<C>): Option {
  // Accepted without effect, because scripts may always pass it.
  return wording === null ? new Option('--confirmed', 'not needed').hideHelp() : new Option(...confirmedOption);
}

const described = ({ description }: PlainSchema): string => (typeof description === 'string' ? description : '');
const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
const lowered = (letter: string): string => `-${letter.toLowerCase()}`;
