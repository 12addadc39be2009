/** The console speaks several languages: all of its texts are in catalogues, and every catalogue is complete. */
import { globSync, readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, test } from 'vitest';
import { auditWords } from '../../console/src/strings/en/audit.ts';
import { revisionWords } from '../../console/src/strings/en/revisions.ts';
import { operations } from '../../src/api/operations.ts';

/** Attributes that a person reads or hears. */
const read = ['label', 'title', 'placeholder', 'description', 'alt', 'aria-label', 'aria-description', 'error'];
/** Names and symbols, the same in every language. */
const isWord = (text: string): boolean => /\p{L}{2,}/u.test(text);

/** Texts in a component instead of a catalogue. */
function strayTexts(path: string, source = readFileSync(path, 'utf8')): string[] {
  const { program } = parseSync(path, source);
  const found: string[] = [];
  new Visitor({
    JSXText(node) {
      if (isWord(node.value)) found.push(node.value.trim());
    },
    JSXExpressionContainer({ expression }) {
      if (expression.type === 'Literal' && typeof expression.value === 'string' && isWord(expression.value))
        found.push(expression.value);
    },
    JSXAttribute({ name, value }) {
      const isRead = name.type === 'JSXIdentifier' && read.includes(name.name);
      if (isRead && value?.type === 'Literal' && typeof value.value === 'string' && isWord(value.value))
        found.push(value.value);
    },
  }).visit(program);
  return found;
}

const components = globSync('console/src/**/*.tsx');

test('no text of a component is outside the catalogues', () => {
  expect(components.length).toBeGreaterThan(50);
  expect(components.flatMap((path) => strayTexts(path).map((text) => `${path}: ${text}`))).toEqual([]);
});

test('the check detects a violation', () => {
  const source = 'const a = <p title="Spoken" id="unspoken">Hello {"there"} {words.good} 5 %</p>;';
  expect(strayTexts('a.tsx', source).toSorted()).toEqual(['Hello', 'Spoken', 'there']);
});

/** Every text of a catalogue, by its place; functions by their result for numbers and names. */
function textsOf(value: unknown, place = ''): [string, string][] {
  if (typeof value === 'string') return [[place, value]];
  if (typeof value === 'function') {
    // Two take a list, all others texts or numbers.
    const given = place.endsWith('/and') || place.endsWith('/or') ? [['a', 'b']] : ['7', '7', '7', '7'];
    return [[place, String(Reflect.apply(value, undefined, given))]];
  }
  return Object.entries(Object(value)).flatMap(([name, member]) => textsOf(member, `${place}/${name}`));
}

const areas = globSync('*.ts', { cwd: 'console/src/strings/en' }).filter((name) => name !== 'index.ts');

test.each(areas)('German has every text of %s', async (name) => {
  const english = textsOf(await import(`../../console/src/strings/en/${name}`));
  const german = textsOf(await import(`../../console/src/strings/de/${name}`));
  expect(english.length).toBeGreaterThan(5);
  expect(german.map(([place]) => place).toSorted()).toEqual(english.map(([place]) => place).toSorted());
  const words = new Map(english);
  const untranslated = german.filter(([place, text]) => text.split(' ').length > 3 && words.get(place) === text);
  expect(untranslated.filter(([, text]) => !/^(Setpoint|\d)/.test(text))).toEqual([]);
});

/** The names in the code of a file, and the keys that texts are looked up by. */
function lookedUp(path: string, { source = readFileSync(path, 'utf8'), names = true } = {}): string[] {
  const found: string[] = [];
  new Visitor({
    Identifier: ({ name }) => void (names && found.push(name)),
    Property: ({ key }) => void (key.type === 'Identifier' && found.push(key.name)),
    Literal: ({ value }) => void (typeof value === 'string' && found.push(value)),
  }).visit(parseSync(path, source).program);
  return found;
}

test('every text is used by the console, or named after a value of the service', async () => {
  const filesOf = (pattern: string): string[] => globSync(pattern).filter((path) => !path.endsWith('.test.ts'));
  const own = filesOf('console/src/**/*.{ts,tsx}').filter((path) => !path.startsWith('console/src/strings/'));
  const names = new Set([
    ...own.flatMap((path) => lookedUp(path)),
    ...filesOf('src/**/*.ts').flatMap((path) => lookedUp(path, { names: false })),
  ]);
  const unused: string[] = [];
  for (const area of areas)
    for (const [place] of textsOf(await import(`../../console/src/strings/en/${area}`))) {
      const name = place.split('/').at(-1) ?? '';
      // Looked up by number; the entries of this table count as used together.
      const isFound = names.has(name) || /^\d+$/.test(name) || place.includes('/scan/registers/');
      if (!isFound) unused.push(`${area}: ${place}`);
    }
  expect(unused).toEqual([]);
  const source = 'const a = words.spoken; const { left } = of["right"];';
  expect(lookedUp('a.ts', { source })).toEqual(expect.arrayContaining(['spoken', 'left', 'right']));
  expect(lookedUp('a.ts', { source, names: false }).toSorted()).toEqual(['left', 'right']);
});

/** Actions of a change in the audit log: those of the operations, and those that the product names itself. */
function recordedActions(): string[] {
  const commands = operations.filter(({ kind }) => kind === 'command').map(({ name }) => name);
  const sources = globSync('src/**/*.ts', { exclude: (name) => name.endsWith('.test.ts') || name === 'testing' });
  const named = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/\baction: '([a-z_]+\.[a-z_.-]+)'/g)].map(([, action = '']) => action),
  );
  return [...new Set([...commands, ...named])];
}

test('each change in the audit log, and each revision of a rule, has words', () => {
  const actions = recordedActions();
  expect(actions).toEqual(expect.arrayContaining(['automation.rule.create', 'history.import']));
  // The event that checks whether the log accepts one is never stored.
  const stored = actions.filter((action) => action !== 'platform.ready');
  expect(stored.filter((action) => !(action in auditWords.actions))).toEqual([]);
  const changes = actions.filter((action) => action.startsWith('automation.rule.') && !action.endsWith('.execute'));
  expect(changes.map((action) => action.slice('automation.rule.'.length))).toEqual(
    expect.arrayContaining(Object.keys(revisionWords.changes)),
  );
  expect(Object.keys(revisionWords.changes)).toHaveLength(changes.length);
});
