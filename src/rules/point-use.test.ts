/** A rule's use of a point [points §8.4]. */
import { expect, test } from 'vitest';
import { topologyOf } from '../automation/rule-document.ts';
import { siteCatalogue } from '../site/site-catalogue.ts';
import { switchFlow, tankSite } from '../testing/tank-site.ts';
import { pointUse } from './point-use.ts';

const catalogue = siteCatalogue(tankSite);

function use(flow: string, position = 0) {
  const topology = topologyOf(flow, catalogue);
  const point = catalogue.points[position];
  if (topology === null || point === undefined) throw new Error('the flow does not check');
  return pointUse(topology, point, catalogue);
}

test('[points §8.4] thresholds stand right of the reading, with parameters as they are now', () => {
  const { reads, thresholds, writes } = use(switchFlow('x > limit + 2 || (1.5 >= x && -x < 4)', 1));
  expect(reads).toBe(true);
  expect(writes).toEqual([]);
  expect(thresholds.map(({ node_id, name, operator, value }) => `${node_id} ${name} ${operator} ${value}`)).toEqual([
    'd yes > 12',
    'd yes <= 1.5',
    'd yes > -4',
  ]);
  expect(use(switchFlow('limit - 3 == x', 1)).thresholds).toEqual([
    { node_id: 'd', name: 'yes', operator: '==', value: 7 },
  ]);
});

test('[points §8.4] both thresholds of a hysteresis, whichever way it is turned', () => {
  const found = (when: string) =>
    use(switchFlow(when, 1)).thresholds.map(({ operator, value }) => `${operator} ${value}`);
  expect(found('hysteresis(x, limit, limit - 2) == 1')).toEqual(['> 10', '< 8']);
  expect(found('hysteresis(-x, -limit, -(limit + 2)) == 1')).toEqual(['< 10', '> 12']);
  expect(found('hysteresis(x + 1, limit, 3) == 1')).toEqual([]);
});

test('[points §8.4] comparisons without a fixed value give no threshold', () => {
  for (const when of ['x > x * 2', 'abs(x) > 3', 'x > moving_avg(x, 60)', 'x > 1 / 0'])
    expect(use(switchFlow(when, 1)).thresholds, when).toEqual([]);
});

test('[points §8.4] a name that means another point elsewhere, or is assigned, is not the reading', () => {
  const flow = JSON.parse(switchFlow('x > 5', 1)) as { nodes: { i: { variables: object[] } } };
  const elsewhere = { name: 'y', instance: 1, point_type: 'measurement', point: 2 };
  flow.nodes.i.variables.push(elsewhere);
  expect(use(JSON.stringify(flow)).thresholds).toHaveLength(1);
  expect(use(JSON.stringify(flow), 2)).toEqual({ reads: true, thresholds: [], writes: [] });
  expect(use(switchFlow('x > 5', 1), 2)).toEqual({ reads: false, thresholds: [], writes: [] });
});

test('[points §8.4] nodes that write the point, and only these', () => {
  expect(use(switchFlow('x > 5', 1), 1)).toEqual({ reads: false, thresholds: [], writes: ['a'] });
  expect(use(switchFlow('x > 5', 1), 3).writes).toEqual([]);
});
