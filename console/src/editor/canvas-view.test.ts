import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Box, boundsOf, fromStart, movedView, openingView, readableZoom, wireDirection } from './canvas-view.ts';
import { newDocument } from './flow-document.ts';

const box = fc.record({
  x: fc.integer({ min: -5000, max: 5000 }),
  y: fc.integer({ min: -5000, max: 5000 }),
  width: fc.integer({ min: 100, max: 300 }),
  height: fc.integer({ min: 30, max: 400 }),
});
const pane = fc.record({ width: fc.integer({ min: 360, max: 2500 }), height: fc.integer({ min: 300, max: 1500 }) });

describe('the opening view', () => {
  test('is never so small that text is under 11 px, and shows the whole flow where it fits at that size', () => {
    fc.assert(
      fc.property(fc.array(box, { minLength: 1, maxLength: 30 }), pane, (boxes, size) => {
        const view = openingView(boxes, boxes[0], size);
        expect(view.zoom).toBeGreaterThanOrEqual(readableZoom);
        expect(12 * view.zoom).toBeGreaterThanOrEqual(11 - 1e-9);
        expect(view.zoom).toBeLessThanOrEqual(1);
        const seen = (each: Box): boolean => {
          const [x, y] = [each.x * view.zoom + view.x, each.y * view.zoom + view.y];
          return (
            x >= 0 && y >= 0 && x + each.width * view.zoom <= size.width && y + each.height * view.zoom <= size.height
          );
        };
        const { width, height } = boundsOf(boxes);
        const fits = width * view.zoom <= size.width - 64 && height * view.zoom <= size.height - 64;
        if (fits) expect(boxes.every(seen)).toBe(true);
        const [first] = boxes;
        if (first !== undefined && first.height * view.zoom <= size.height - 64) expect(seen(first)).toBe(true);
      }),
    );
  });
});

test('the view moves to a node that is out of it, and stays while a part of the node is seen', () => {
  const view = fc.record({
    x: fc.integer({ min: -3000, max: 3000 }),
    y: fc.integer({ min: -3000, max: 3000 }),
    zoom: fc.double({ min: 0.3, max: 2, noNaN: true }),
  });
  fc.assert(
    fc.property(box, pane, view, (each, size, from) => {
      const to = movedView(each, size, from);
      const [x, y] = [each.x * from.zoom + from.x, each.y * from.zoom + from.y];
      const [right, bottom] = [x + each.width * from.zoom, y + each.height * from.zoom];
      if (to === null) {
        expect(Math.min(right, bottom, size.width - x, size.height - y)).toBeGreaterThan(0);
        return;
      }
      expect(Math.min(right, bottom, size.width - x, size.height - y)).toBeLessThanOrEqual(0);
      expect(to.zoom).toBe(from.zoom);
      expect((each.x + each.width / 2) * to.zoom + to.x).toBeCloseTo(size.width / 2, 6);
      expect((each.y + each.height / 2) * to.zoom + to.y).toBeCloseTo(size.height / 2, 6);
    }),
  );
});

test('a large flow is drawn from its start outwards', () => {
  const flow = newDocument();
  const [start, end] = flow.nodes;
  if (start === undefined || end === undefined) throw new Error('a new flow has two nodes');
  const place = (id: string, x: number) => ({ ...end, id, position: { x, y: 0 } });
  const nodes = [place('far', 900), place('left', -100), { ...start, position: { x: 0, y: 0 } }, place('right', 300)];
  expect(fromStart({ ...flow, nodes }).map(({ id }) => id)).toEqual([start.id, 'left', 'right', 'far']);
  expect(fromStart({ ...flow, nodes: [] })).toEqual([]);
});

test('a flow leads down where most of its wires do', () => {
  const flow = newDocument();
  const [start, end] = flow.nodes;
  if (start === undefined || end === undefined) throw new Error('a new flow has two nodes');
  const wired = (x: number, y: number) => ({
    ...flow,
    nodes: [
      { ...start, position: { x: 0, y: 0 }, data: { config: { wires: { default: [end.id] } } } },
      { ...end, position: { x, y } },
    ],
  });
  expect(wireDirection(wired(300, 100))).toBe('right');
  expect(wireDirection(wired(100, 300))).toBe('down');
  expect(wireDirection({ ...flow, nodes: [start] })).toBe('right');
});
