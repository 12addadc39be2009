/**
 * Small neural networks that give all quantiles of a cell at once, by the pinball loss. Between the days that it has seen a
 * network is smooth where a forest has steps: their distributions err differently, and the mean of both misses less than
 * either. One network a fold; a forecast is the mean of them.
 */
import type { Columns, TrainingPlan } from './learning.ts';
import { interpolate, levels } from './levels.ts';
import { type Standard, standardOf } from './ridge.ts';
import { SeededStream } from './seeded.ts';

/** What a network knows: per layer, the weights of each output beside each other, its offset last. */
interface Network {
  readonly layers: readonly Layer[];
}

interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  /** Per output: one weight an input, then the offset. */
  readonly weights: Float64Array;
}

export interface QuantileNetworks {
  /** One distribution at the levels for each row of `columns`; `hours` are the rows' hours of the day. */
  predict(columns: Columns, hours: Float64Array): Float64Array[];
}

export interface JudgedNetworks {
  readonly networks: QuantileNetworks;
  /** The distribution of a training row by the network that had not seen its days. */
  unseen(row: number): Float64Array;
}

/** Probabilities that a network gives; the levels are read between them. */
const knots = Float64Array.of(0.01, 0.03, 0.07, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93, 0.97, 0.99);
const hidden = [48, 24];
const epochsMax = 20;
/** Rows that one network looks at, counted each time: bounds its time where history is long or fine. */
const looksMax = 80_000;
const batchRows = 128;
const rate = 0.003;
/** Part of its weights that a network loses a step, a unit of rate: most of what keeps it from learning the noise. */
const decay = 2;
/** Where the goal is this near, in units of its scale, the pull of a miss fades: quantiles come to rest. */
const calm = 0.01;
/** Slope below zero: a unit that is silent on all rows could never come back. */
const leak = 0.01;
const inputMax = 4;
const dayWaves = 2;

/** Standardised cells, row after row; a missing cell is an average one. */
function inputsOf(columns: Columns, standard: Standard, hours: Float64Array): Float64Array {
  const size = inputCount(columns.length);
  const inputs = new Float64Array(hours.length * size);
  for (let column = 0; column < columns.length; column++) {
    const values = columns[column] as Float64Array;
    const [mean, scale] = [standard.mean[column] as number, standard.scale[column] as number];
    for (let row = 0; row < hours.length; row++) {
      const unit = ((values[row] as number) - mean) * scale;
      inputs[row * size + column] = unit === unit ? Math.max(-inputMax, Math.min(inputMax, unit)) : 0;
    }
  }
  for (let row = 0; row < hours.length; row++) {
    for (let wave = 1; wave <= dayWaves; wave++) {
      const turn = (2 * Math.PI * wave * (hours[row] as number)) / 24;
      const at = row * size + columns.length + 2 * (wave - 1);
      inputs[at] = Math.SQRT2 * Math.sin(turn);
      inputs[at + 1] = Math.SQRT2 * Math.cos(turn);
    }
  }
  return inputs;
}

function inputCount(columns: number): number {
  return columns + 2 * dayWaves;
}

function newNetwork(inputs: number, offsets: Float64Array, stream: SeededStream): Network {
  const sizes = [inputs, ...hidden, knots.length];
  const layers = sizes.slice(1).map((outputs, index): Layer => {
    const own = sizes[index] as number;
    const last = index === hidden.length;
    const reach = Math.sqrt((last ? 0.03 : 6) / own);
    const weights = new Float64Array(outputs * (own + 1));
    for (let output = 0; output < outputs; output++) {
      const at = output * (own + 1);
      for (let input = 0; input < own; input++) weights[at + input] = reach * (2 * stream.next() - 1);
      weights[at + own] = last ? (offsets[output] as number) : 0;
    }
    return { inputs: own, outputs, weights };
  });
  return { layers };
}

/** What the units of each layer say, the inputs first. */
type Signals = readonly Float64Array[];

function signalsOf({ layers }: Network): Signals {
  const sizes = [(layers[0] as Layer).inputs, ...layers.map(({ outputs }) => outputs)];
  return sizes.map((size) => new Float64Array(size));
}

function run({ layers }: Network, signals: Signals): Float64Array {
  for (let index = 0; index < layers.length; index++) {
    const { inputs, outputs, weights } = layers[index] as Layer;
    const from = signals[index] as Float64Array;
    const into = signals[index + 1] as Float64Array;
    const bent = index + 1 < layers.length;
    for (let output = 0; output < outputs; output++) {
      const at = output * (inputs + 1);
      let sum = weights[at + inputs] as number;
      for (let input = 0; input < inputs; input++) sum += (weights[at + input] as number) * (from[input] as number);
      into[output] = bent && sum < 0 ? leak * sum : sum;
    }
  }
  return signals[layers.length] as Float64Array;
}

/** Adds to `slopes` what one row pulls at the weights; `pulls` holds the pull at each unit, that of the last layer given. */
function pullBack({ layers }: Network, signals: Signals, pulls: Signals, slopes: readonly Float64Array[]): void {
  for (let index = layers.length - 1; index >= 0; index--) {
    const { inputs, outputs, weights } = layers[index] as Layer;
    const from = signals[index] as Float64Array;
    const own = pulls[index + 1] as Float64Array;
    const below = pulls[index] as Float64Array;
    const slope = slopes[index] as Float64Array;
    if (index > 0) below.fill(0);
    for (let output = 0; output < outputs; output++) {
      const pull = own[output] as number;
      if (pull === 0) continue;
      const at = output * (inputs + 1);
      for (let input = 0; input < inputs; input++)
        slope[at + input] = (slope[at + input] as number) + pull * (from[input] as number);
      slope[at + inputs] = (slope[at + inputs] as number) + pull;
      if (index === 0) continue;
      for (let input = 0; input < inputs; input++)
        below[input] = (below[input] as number) + pull * (weights[at + input] as number);
    }
    if (index === 0) continue;
    for (let input = 0; input < inputs; input++)
      if ((from[input] as number) < 0) below[input] = leak * (below[input] as number);
  }
}

/** Steps by the mean and the size of the slopes so far (Adam), with the weights, not the offsets, drawn to zero. */
class Stepper {
  private readonly layer: Layer;
  private readonly mean: Float64Array;
  private readonly square: Float64Array;
  private steps = 0;

  constructor(layer: Layer) {
    this.layer = layer;
    this.mean = new Float64Array(layer.weights.length);
    this.square = new Float64Array(layer.weights.length);
  }

  step(slope: Float64Array, stepRate: number): void {
    const { mean, square } = this;
    const { weights, inputs } = this.layer;
    this.steps++;
    const meanPart = 1 - 0.9 ** this.steps;
    const squarePart = 1 - 0.999 ** this.steps;
    for (let at = 0; at < weights.length; at++) {
      const own = slope[at] as number;
      const first = 0.9 * (mean[at] as number) + 0.1 * own;
      const second = 0.999 * (square[at] as number) + 0.001 * own * own;
      mean[at] = first;
      square[at] = second;
      const kept = at % (inputs + 1) === inputs ? 1 : 1 - stepRate * decay;
      const move = first / meanPart / (Math.sqrt(second / squarePart) + 1e-8);
      weights[at] = kept * (weights[at] as number) - stepRate * move;
    }
  }
}

/** Pull of a miss on each quantile: down by what lies below it, up by what lies above. */
function fillPulls(pulls: Float64Array, said: Float64Array, goal: number): void {
  for (let knot = 0; knot < knots.length; knot++) {
    const probability = knots[knot] as number;
    const miss = goal - (said[knot] as number);
    const full = miss > 0 ? -probability : 1 - probability;
    pulls[knot] = Math.min(1, Math.abs(miss) / calm) * full;
  }
}

function learn(inputs: Float64Array, size: number, goal: Float64Array, rows: Int32Array, seed: number): Network {
  const stream = new SeededStream(seed);
  const sorted = Float64Array.from(rows, (row) => goal[row] as number).sort();
  const offsets = knots.map((knot) => sorted[Math.floor(knot * sorted.length)] as number);
  const network = newNetwork(size, offsets, stream);
  const steppers = network.layers.map((layer) => new Stepper(layer));
  const slopes = network.layers.map(({ weights }) => new Float64Array(weights.length));
  const signals = signalsOf(network);
  const pulls = signalsOf(network);
  const order = rows.slice();
  const batch = Math.min(batchRows, rows.length);
  const perEpoch = Math.floor(rows.length / batch);
  const steps = Math.ceil(Math.min(epochsMax * perEpoch, looksMax / batch));
  for (let step = 0; step < steps; step++) {
    const first = (step % perEpoch) * batch;
    if (first === 0) stream.drawInPlace(order, order.length);
    for (const slope of slopes) slope.fill(0);
    for (let at = first; at < first + batch; at++) {
      const row = order[at] as number;
      (signals[0] as Float64Array).set(inputs.subarray(row * size, (row + 1) * size));
      const said = run(network, signals);
      fillPulls(pulls[network.layers.length] as Float64Array, said, goal[row] as number);
      pullBack(network, signals, pulls, slopes);
    }
    const stepRate = rate * (1 - step / steps);
    for (const [index, stepper] of steppers.entries()) stepper.step(slopes[index] as Float64Array, stepRate);
  }
  return network;
}

/** Runs `network` on one row of `inputs`; the quantiles at the levels, ascending, in the goal's own units. */
function read(network: Network, signals: Signals, inputs: Float64Array, row: number, scale: number): Float64Array {
  const own = signals[0] as Float64Array;
  own.set(inputs.subarray(row * own.length, (row + 1) * own.length));
  const said = run(network, signals).slice().sort();
  return levels.map((level) => scale * interpolate(knots, said, level));
}

function predictor(all: readonly Network[], standard: Standard, scale: number): QuantileNetworks {
  return {
    predict(columns, hours) {
      const inputs = inputsOf(columns, standard, hours);
      const signals = signalsOf(all[0] as Network);
      return Array.from(hours, (_, row) => {
        const sum = new Float64Array(levels.length);
        for (const network of all) {
          const own = read(network, signals, inputs, row, scale);
          for (let index = 0; index < sum.length; index++) sum[index] = (sum[index] as number) + (own[index] as number);
        }
        return sum.map((value) => value / all.length);
      });
    },
  };
}

export function fitNetworks(columns: Columns, hours: Float64Array, plan: TrainingPlan): JudgedNetworks {
  const standard = standardOf(columns, plan.rows, plan.weight);
  const size = inputCount(columns.length);
  const inputs = inputsOf(columns, standard, hours);
  const scale = scaleOf(plan);
  const goal = plan.goal.map((value) => value / scale);
  const all = Array.from({ length: plan.foldCount }, (_, fold) => {
    const seen = plan.rows.filter((row) => plan.fold[row] !== fold);
    return learn(inputs, size, goal, seen, 31 + fold);
  });
  const signals = signalsOf(all[0] as Network);
  return {
    networks: predictor(all, standard, scale),
    unseen: (row) => read(all[plan.fold[row] as number] as Network, signals, inputs, row, scale),
  };
}

/** Four standard deviations: what a network learns is of the order of one, whatever the unit. */
function scaleOf({ rows, goal }: TrainingPlan): number {
  let sum = 0;
  let squares = 0;
  for (const row of rows) sum += goal[row] as number;
  const mean = sum / rows.length;
  for (const row of rows) squares += ((goal[row] as number) - mean) ** 2;
  return 4 * Math.sqrt(squares / rows.length) || 1;
}
