/** Flows of the package's templates: settings and readings, one decision, and what each branch writes. */
import type { PointRef } from '../../site/catalogue.ts';
import type { Arguments } from './template.ts';

interface Branch {
  readonly name: string;
  readonly label: string;
  readonly when: string;
  readonly writes: readonly WriteOf[];
}

interface WriteOf {
  /** A parameter of the template. */
  readonly to: string;
  readonly value: string | number;
}

interface FlowParts {
  /** Parameters that the flow reads, under their own names. */
  readonly reads: readonly string[];
  /** Numbers that the flow shows as variables, to be changed there. */
  readonly settings: readonly string[];
  readonly computed: readonly { readonly name: string; readonly expression: string }[];
  readonly branches: readonly Branch[];
  /** The writes where no branch is true. */
  readonly otherwise: { readonly label: string; readonly writes: readonly WriteOf[] };
}

const column = 280;
const row = 150;

export function templateFlow(given: Arguments, parts: FlowParts): object {
  const { reads, settings, computed, branches, otherwise } = parts;
  const node = (id: string, type: string, label: string, place: readonly [number, number], config: object): object => ({
    id,
    type,
    position: { x: place[0] * column, y: place[1] * row },
    data: { label, config },
  });
  const ends = [...branches, { name: 'else', ...otherwise }];
  const write = ({ to, value }: WriteOf): object => ({ ...given.point(to), value });
  return {
    nodes: [
      node('start', 'start', 'Start', [0, 1], { wires: { default: ['read'] } }),
      node('read', 'input', 'Readings', [0.8, 1], {
        variables: reads.map((name) => ({ name, ...given.point(name) })),
        wires: { default: ['settings'] },
      }),
      node('settings', 'calculation', 'Settings', [1.8, 1], {
        assignments: [...settings.map((name) => ({ name, expression: String(given.number(name)) })), ...computed],
        wires: { default: ['decide'] },
      }),
      node('decide', 'decision', 'Decision', [2.8, 1], {
        branches: branches.map(({ name, when }) => ({ name, when })),
        wires: Object.fromEntries(ends.map(({ name, writes }) => [name, [writes.length === 0 ? 'end' : name]])),
      }),
      ...ends.flatMap(({ name, label, writes }, at) =>
        writes.length === 0
          ? []
          : [node(name, 'action', label, [3.8, at], { writes: writes.map(write), wires: { default: ['end'] } })],
      ),
      node('end', 'end', 'End', [4.8, 1], { wires: {} }),
    ],
    edges: [],
  };
}

/** Values of measurement points, for a test. */
export function givenOf(given: Arguments, values: Readonly<Record<string, number | null>>) {
  return Object.entries(values).map(([name, value]) => ({ ...given.point(name), value }));
}

/** Writes that a test expects. */
export function expectedWrites(given: Arguments, values: Readonly<Record<string, number>>) {
  return Object.entries(values).map(([name, value]) => {
    const { instance, point }: PointRef = given.point(name);
    return { instance, point, value };
  });
}
