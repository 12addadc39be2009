/** Differences in words: between a recorded run and a computed one, and between what a test expects and what the rule did. */
import { type ConsoleCatalogue, pointText } from '../editor/site-catalogue.ts';
import { withUnit } from '../parts/number.ts';
import { outcomeOf } from '../rules/rule-words.ts';
import { evidenceWords } from '../strings/evidence.ts';
import type { BacktestView, TestResult } from './evidence-queries.ts';
import type { NodeNames } from './node-names.ts';

type RunDifference = NonNullable<BacktestView['agreement']>['differences'][number];
type TestDifference = TestResult['differences'][number];

const words = evidenceWords;
const fieldsInWords: Readonly<Record<string, string>> = words.backtest.fields;

/** What differs, then both sides. Of the writes, only those that differ are listed. */
export function runDifference(
  { field, recorded, computed }: Pick<RunDifference, 'field' | 'recorded' | 'computed'>,
  catalogue: ConsoleCatalogue,
  nodeName: NodeNames,
): readonly [what: string, recorded: string, computed: string] {
  const what = fieldsInWords[field] ?? field;
  if (!Array.isArray(recorded) || !Array.isArray(computed)) return [what, outcomeText(recorded), outcomeText(computed)];
  const only = (these: readonly unknown[], others: readonly unknown[]): string => {
    const known = new Set(others.map((other) => JSON.stringify(other)));
    const own = field === 'writes' ? these.filter((each) => !known.has(JSON.stringify(each))) : these;
    return (
      own.map((each) => stepText(each, catalogue, nodeName)).join(field === 'writes' ? ', ' : ' → ') ||
      words.tests.nothing
    );
  };
  return [what, only(recorded, computed), only(computed, recorded)];
}

function outcomeText(value: unknown): string {
  return value === null ? words.backtest.notRun : outcomeOf(plain(value)).text;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A node of the path, or a write. */
function stepText(step: unknown, catalogue: ConsoleCatalogue, nodeName: NodeNames): string {
  if (typeof step === 'string') return nodeName(step);
  if (typeof step !== 'object' || step === null) return plain(step);
  const { instance, point, value, success } = step as Readonly<Record<string, unknown>>;
  const text = writeText({ instance: Number(instance), point: Number(point) }, value, catalogue);
  return success === false ? words.backtest.notTaken(text) : text;
}

function writeText(actuator: { instance: number; point: number }, value: unknown, catalogue: ConsoleCatalogue): string {
  const ref = { ...actuator, point_type: 'action' } as const;
  return `${pointText(ref, catalogue)} = ${typeof value === 'number' ? withUnit(value, undefined) : '–'}`;
}

/** As the service names them: `/then/outcome`, `/then/writes (4:1)`, `/then/output (branch)`. */
export function testDifference(
  { field, expected, actual }: TestDifference,
  catalogue: ConsoleCatalogue,
  nodeName: NodeNames,
): readonly [what: string, expected: string, actual: string] {
  const [, part, place = ''] = /^\/then\/(outcome|writes|output)(?: \((.+)\))?$/.exec(field) ?? [];
  if (part === 'outcome') return [words.tests.outcome, outcomeText(expected), outcomeText(actual)];
  if (part === 'writes') {
    const [instance, point] = place.split(':').map(Number);
    const ref = { instance: instance ?? 0, point_type: 'action', point: point ?? 0 } as const;
    const told = (value: unknown): string => (typeof value === 'number' ? String(value) : words.tests.notWritten);
    return [pointText(ref, catalogue), told(expected), told(actual)];
  }
  const told = (value: unknown): string => (value === null ? words.tests.nothing : plain(value));
  return [part === 'output' ? `${words.tests.output} (${nodeName(place)})` : field, told(expected), told(actual)];
}
