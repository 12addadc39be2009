/** An explanation in an answer: `details.explanation` of a result, and its warnings. */
import { formatTimestamp } from '../../base/timestamp.ts';
import type { Explanation, Share } from '../explanation.ts';

/** The models and inputs with the largest shares are named; the others add up to little. */
const namedMax = 8;

/** `asOfMs`: the label of the newest cell of the history. */
export function explanationDetails(explanation: Explanation, asOfMs: number): object {
  const { models, inputs, shift, lost, stale, doubted } = explanation;
  return {
    models: models.slice(0, namedMax).map(rounded),
    inputs: inputs.slice(0, namedMax).map(rounded),
    ...(shift !== null && {
      level_shift: {
        since: formatTimestamp(asOfMs - Math.round(shift.hours * 3_600_000)),
        [shift.kind === 'scaled' ? 'factor' : 'added']: significant(shift.amount),
        probability: shift.share,
      },
    }),
    ...(lost.length > 0 && {
      lost_inputs: lost.slice(0, namedMax).map(({ name, steps, how }) => ({ name, steps, how })),
    }),
    ...(stale.length > 0 && { stale_inputs: stale.slice(0, namedMax) }),
    ...(doubted > 0 && { newest_cells_left_out: doubted }),
  };
}

function rounded({ name, share }: Share): object {
  return { name, share: Math.round(share * 1000) / 1000 };
}

function significant(value: number): number {
  return Number(value.toPrecision(4));
}

export function warningsOf({ shift, lost, stale, doubted }: Explanation): readonly string[] {
  return [
    ...(shift === null ? [] : ['LEVEL_SHIFT']),
    ...(lost.some(({ how }) => how === 'missing') ? ['INPUT_LOST'] : []),
    ...(stale.length > 0 || lost.some(({ how }) => how === 'stuck') ? ['INPUT_STALE'] : []),
    ...(doubted > 0 ? ['NEWEST_CELL_DOUBTED'] : []),
  ];
}
