/** Rows as a table on a terminal, and as tab-separated lines without a header for a pipe [platform §7]. */
import { type Paint, painted, printable, type Terminal } from './terminal.ts';

export type Cell = string | number | boolean | null | undefined;

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Cell;
  readonly align?: 'right';
  readonly paint?: (row: Row) => Paint | undefined;
}

/** Wider cells are truncated on a terminal; a pipe gets them complete. */
const cellWidthMax = 60;
const gap = '  ';

export function printTable<Row>(terminal: Terminal, columns: readonly Column<Row>[], rows: readonly Row[]): void {
  if (!terminal.outIsTerminal) {
    for (const row of rows) terminal.out(`${columns.map((column) => shown(column.cell(row))).join('\t')}\n`);
    return;
  }
  const texts = rows.map((row) => columns.map((column) => cut(shown(column.cell(row)))));
  const widths = columns.map(({ title }, index) =>
    Math.max(title.length, ...texts.map((cells) => widthOf(cells[index] ?? ''))),
  );
  const padded = (text: string, index: number): string => {
    const fill = ' '.repeat(Math.max(0, (widths[index] ?? 0) - widthOf(text)));
    return columns[index]?.align === 'right' ? `${fill}${text}` : `${text}${fill}`;
  };
  const header = columns.map(({ title }, index) => padded(title, index)).join(gap);
  terminal.out(`${painted(terminal, 'bold', header.trimEnd())}\n`);
  rows.forEach((row, position) => {
    const cells = columns.map((column, index) => {
      const text = padded(texts[position]?.[index] ?? '', index);
      const paint = column.paint?.(row);
      return paint === undefined ? text : painted(terminal, paint, text);
    });
    terminal.out(`${cells.join(gap).trimEnd()}\n`);
  });
}

/** The properties of one object, one line each. */
export function printProperties(terminal: Terminal, properties: Readonly<Record<string, Cell>>): void {
  const width = Math.max(...Object.keys(properties).map((name) => name.length));
  for (const [name, value] of Object.entries(properties)) {
    const label = terminal.outIsTerminal ? painted(terminal, 'dim', name.padEnd(width + 2)) : `${name}\t`;
    terminal.out(`${label}${shown(value)}\n`);
  }
}

/** A missing value is a dash, never 0 or an empty cell. */
function shown(value: Cell): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return printable(String(value));
}

function cut(text: string): string {
  return text.length > cellWidthMax ? `${text.slice(0, cellWidthMax - 1)}…` : text;
}

/** Code points: what a terminal needs for all but the widest scripts. */
function widthOf(text: string): number {
  return Array.from(text).length;
}
