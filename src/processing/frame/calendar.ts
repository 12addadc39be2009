/** Calendar features, computed from the labels alone ([data-processing §4.9] step 6). Their watermark is the data cut itself. */

import type { CalendarTransform } from '../../contract/calendar.ts';
import { calendarTransforms } from '../../contract/calendar.ts';
import type { BoundInput } from '../commission/commissioned.ts';
import { goodCells } from './cells.ts';
import type { Feature } from './feature.ts';
import { type Grid, labelMs } from './grid.ts';
import type { FramePlan } from './plan.ts';
import type { SegmentName } from './reason.ts';

export function calendarFeatures(plan: FramePlan): readonly Feature[] {
  return [
    ...segmentFeatures(plan, 'history', plan.route.history, plan.history),
    ...segmentFeatures(plan, 'future_covariates', plan.route.future, plan.future),
  ];
}

function segmentFeatures(plan: FramePlan, segment: SegmentName, inputs: readonly BoundInput[], grid: Grid): Feature[] {
  return inputs.flatMap(({ input, source }) => {
    if (source.kind !== 'calendar') return [];
    const transform: CalendarTransform = calendarTransforms[source.transform];
    const values = new Float64Array(grid.steps);
    for (let index = 0; index < grid.steps; index++)
      values[index] = transform.at(labelMs(grid, index), plan.route.place);
    return [
      {
        segment,
        input,
        grid,
        cells: goodCells(values),
        sourceKind: 'calendar',
        sourceRef: source.sourceRef,
        watermarkMs: plan.asOfMs,
        issuedMs: null,
        reasons: [],
      },
    ];
  });
}
