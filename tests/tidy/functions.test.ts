/** Functions are short, and a function that returns methods holds little state: what holds more is a class. */
import { type ParseResult, parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { productFiles } from './sources.ts';

const linesMax = 60;
const sharedMax = 3;

interface Measured {
  readonly place: string;
  /** Without the functions inside: each of those is counted by itself. */
  readonly ownLines: number;
  /** Variables of the function that functions inside it assign. */
  readonly shared: readonly string[];
}

interface Open {
  readonly from: number;
  readonly to: number;
  readonly outer: Open | null;
  nestedLines: number;
  readonly variables: Set<string>;
  readonly shared: Set<string>;
}

type Node = Readonly<Record<string, unknown>> & { readonly type: string; readonly start: number; readonly end: number };

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
const isFunction = (node: Node): boolean =>
  /^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(node.type);

/** An assignment of `name` inside `open`: whose variable it is, if an enclosing function has it. */
function assigned(name: unknown, open: Open | null): void {
  if (typeof name !== 'string' || open === null || open.variables.has(name)) return;
  for (let owner = open.outer; owner !== null; owner = owner.outer)
    if (owner.variables.has(name)) {
      owner.shared.add(name);
      return;
    }
}

function measured(path: string, text: string, { program }: ParseResult): Measured[] {
  const found: Measured[] = [];
  const lineAt = (position: number): number => text.slice(0, position).split('\n').length;
  const named = (value: unknown): unknown => (isNode(value) ? value['name'] : undefined);
  const visit = (value: unknown, outer: Open | null): void => {
    if (Array.isArray(value)) return value.forEach((each) => visit(each, outer));
    if (!isNode(value)) return;
    let inner = outer;
    if (isFunction(value)) {
      const [from, to] = [lineAt(value.start), lineAt(value.end)];
      inner = { from, to, outer, nestedLines: 0, variables: new Set(), shared: new Set() };
    }
    if (value.type === 'VariableDeclarator') outer?.variables.add(String(named(value['id'])));
    if (value.type === 'AssignmentExpression') assigned(named(value['left']), outer);
    if (value.type === 'UpdateExpression') assigned(named(value['argument']), outer);
    for (const member of Object.values(value)) visit(member, inner);
    if (inner === outer || inner === null) return;
    const lines = inner.to - inner.from + 1;
    if (outer !== null) outer.nestedLines += lines - 1;
    found.push({ place: `${path}:${inner.from}`, ownLines: lines - inner.nestedLines, shared: [...inner.shared] });
  };
  visit(program, null);
  return found;
}

const functions = productFiles().flatMap(({ path, text }) => measured(path, text, parseSync(path, text)));

test('functions were found', () => {
  expect(functions.length).toBeGreaterThan(3000);
});

test('a function has at most 60 lines of its own', () => {
  expect(functions.filter(({ ownLines }) => ownLines > linesMax)).toEqual([]);
});

test('functions share at most three variables that they assign: more state than that is a class', () => {
  expect(functions.filter(({ shared }) => shared.length > sharedMax)).toEqual([]);
});
