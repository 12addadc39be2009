/**
 * Small feed-forward networks trained on the pinball loss: one output per quantile. A network interpolates smoothly where a forest
 * is piecewise constant; their errors differ, and the mean of both has a smaller loss than either. One network per fold; a forecast
 * is the mean of the ensemble.
 */
import type { Columns, TrainingPlan } from './learning.ts';
import { interpolate, levels } from './levels.ts';
import { type Standard, standardOf } from './ridge.ts';
import { SeededStream } from './seeded.ts';

/** Layers in order; within a layer the weights of each output are contiguous, its bias last. */
interface Network {
  readonly layers: readonly Layer[];
}

interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  /** Per output: one weight per input, then the bias. */
  readonly weights: Float64Array;
}

export interface QuantileNetworks {
  /** One distribution at the levels for each row of `columns`; `hours` are the rows' hours of the day. */
  predict(columns: Columns, hours: Float64Array): Float64Array[];
}

export interface JudgedNetworks {
  readonly networks: QuantileNetworks;
  /** Out-of-fold distribution of a training row. */
  unseen(row: number): Float64Array;
}

/** Quantile levels of the outputs; other levels are interpolated. */
const knots = Float64Array.of(0.01, 0.03, 0.07, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93, 0.97, 0.99);
const hidden = [48, 24];
const epochsMax = 20;
/** Training samples per network over all epochs: bounds the time for long or fine histories. */
const samplesMax = 80_000;
const batchRows = 128;
const learningRate = 0.003;
/** Weight decay per step and unit of learning rate: the main regularisation. */
const weightDecay = 2;
/** The pinball loss is smoothed within this residual, in units of the target's scale, so that training converges. */
const huberWidth = 0.01;
/** Leaky ReLU: a unit that is inactive on all rows still has a gradient. */
const leak = 0.01;
const inputMax = 4;
const dayWaves = 2;

/** Standardised features, row-major; a missing cell is the mean. */
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

/** Outputs of each layer, the inputs first. */
type Activations = readonly Float64Array[];

function activationsOf({ layers }: Network): Activations {
  const sizes = [(layers[0] as Layer).inputs, ...layers.map(({ outputs }) => outputs)];
  return sizes.map((size) => new Float64Array(size));
}

function run({ layers }: Network, activations: Activations): Float64Array {
  for (let index = 0; index < layers.length; index++) {
    const { inputs, outputs, weights } = layers[index] as Layer;
    const from = activations[index] as Float64Array;
    const into = activations[index + 1] as Float64Array;
    const hasActivation = index + 1 < layers.length;
    for (let output = 0; output < outputs; output++) {
      const at = output * (inputs + 1);
      let sum = weights[at + inputs] as number;
      for (let input = 0; input < inputs; input++) sum += (weights[at + input] as number) * (from[input] as number);
      into[output] = hasActivation && sum < 0 ? leak * sum : sum;
    }
  }
  return activations[layers.length] as Float64Array;
}

/** Adds one row's gradient to `gradients`; `deltas` holds the loss gradient at each unit, that of the output layer on entry. */
function backpropagate(
  { layers }: Network,
  activations: Activations,
  deltas: Activations,
  gradients: readonly Float64Array[],
): void {
  for (let index = layers.length - 1; index >= 0; index--) {
    const { inputs, outputs, weights } = layers[index] as Layer;
    const from = activations[index] as Float64Array;
    const own = deltas[index + 1] as Float64Array;
    const below = deltas[index] as Float64Array;
    const gradient = gradients[index] as Float64Array;
    if (index > 0) below.fill(0);
    for (let output = 0; output < outputs; output++) {
      const delta = own[output] as number;
      if (delta === 0) continue;
      const at = output * (inputs + 1);
      for (let input = 0; input < inputs; input++)
        gradient[at + input] = (gradient[at + input] as number) + delta * (from[input] as number);
      gradient[at + inputs] = (gradient[at + inputs] as number) + delta;
      if (index === 0) continue;
      for (let input = 0; input < inputs; input++)
        below[input] = (below[input] as number) + delta * (weights[at + input] as number);
    }
    if (index === 0) continue;
    for (let input = 0; input < inputs; input++)
      if ((from[input] as number) < 0) below[input] = leak * (below[input] as number);
  }
}

/** Adam with decoupled weight decay; biases do not decay. */
class Adam {
  private readonly layer: Layer;
  private readonly mean: Float64Array;
  private readonly square: Float64Array;
  private steps = 0;

  constructor(layer: Layer) {
    this.layer = layer;
    this.mean = new Float64Array(layer.weights.length);
    this.square = new Float64Array(layer.weights.length);
  }

  step(gradient: Float64Array, stepRate: number): void {
    const { mean, square } = this;
    const { weights, inputs } = this.layer;
    this.steps++;
    const meanPart = 1 - 0.9 ** this.steps;
    const squarePart = 1 - 0.999 ** this.steps;
    for (let at = 0; at < weights.length; at++) {
      const own = gradient[at] as number;
      const first = 0.9 * (mean[at] as number) + 0.1 * own;
      const second = 0.999 * (square[at] as number) + 0.001 * own * own;
      mean[at] = first;
      square[at] = second;
      const kept = at % (inputs + 1) === inputs ? 1 : 1 - stepRate * weightDecay;
      const move = first / meanPart / (Math.sqrt(second / squarePart) + 1e-8);
      weights[at] = kept * (weights[at] as number) - stepRate * move;
    }
  }
}

/** Gradient of the smoothed pinball loss at each quantile. */
function fillLossGradients(deltas: Float64Array, predicted: Float64Array, target: number): void {
  for (let knot = 0; knot < knots.length; knot++) {
    const probability = knots[knot] as number;
    const miss = target - (predicted[knot] as number);
    const full = miss > 0 ? -probability : 1 - probability;
    deltas[knot] = Math.min(1, Math.abs(miss) / huberWidth) * full;
  }
}

function learn(inputs: Float64Array, size: number, target: Float64Array, rows: Int32Array, seed: number): Network {
  const stream = new SeededStream(seed);
  const sorted = Float64Array.from(rows, (row) => target[row] as number).sort();
  const offsets = knots.map((knot) => sorted[Math.floor(knot * sorted.length)] as number);
  const network = newNetwork(size, offsets, stream);
  const optimizers = network.layers.map((layer) => new Adam(layer));
  const gradients = network.layers.map(({ weights }) => new Float64Array(weights.length));
  const activations = activationsOf(network);
  const deltas = activationsOf(network);
  const order = rows.slice();
  const batch = Math.min(batchRows, rows.length);
  const perEpoch = Math.floor(rows.length / batch);
  const steps = Math.ceil(Math.min(epochsMax * perEpoch, samplesMax / batch));
  for (let step = 0; step < steps; step++) {
    const first = (step % perEpoch) * batch;
    if (first === 0) stream.drawInPlace(order, order.length);
    for (const gradient of gradients) gradient.fill(0);
    for (let at = first; at < first + batch; at++) {
      const row = order[at] as number;
      (activations[0] as Float64Array).set(inputs.subarray(row * size, (row + 1) * size));
      const predicted = run(network, activations);
      fillLossGradients(deltas[network.layers.length] as Float64Array, predicted, target[row] as number);
      backpropagate(network, activations, deltas, gradients);
    }
    const stepRate = learningRate * (1 - step / steps);
    for (const [index, optimizer] of optimizers.entries()) optimizer.step(gradients[index] as Float64Array, stepRate);
  }
  return network;
}

/** Runs `network` on one row of `inputs`; the quantiles at the levels, ascending, in the target's own units. */
function read(
  network: Network,
  activations: Activations,
  inputs: Float64Array,
  row: number,
  scale: number,
): Float64Array {
  const own = activations[0] as Float64Array;
  own.set(inputs.subarray(row * own.length, (row + 1) * own.length));
  const predicted = run(network, activations).slice().sort();
  return levels.map((level) => scale * interpolate(knots, predicted, level));
}

function ensembleOf(all: readonly Network[], standard: Standard, scale: number): QuantileNetworks {
  return {
    predict(columns, hours) {
      const inputs = inputsOf(columns, standard, hours);
      const activations = activationsOf(all[0] as Network);
      return Array.from(hours, (_, row) => {
        const sum = new Float64Array(levels.length);
        for (const network of all) {
          const own = read(network, activations, inputs, row, scale);
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
  const target = plan.target.map((value) => value / scale);
  const all = Array.from({ length: plan.foldCount }, (_, fold) => {
    const seen = plan.rows.filter((row) => plan.fold[row] !== fold);
    return learn(inputs, size, target, seen, 31 + fold);
  });
  const activations = activationsOf(all[0] as Network);
  return {
    networks: ensembleOf(all, standard, scale),
    unseen: (row) => read(all[plan.fold[row] as number] as Network, activations, inputs, row, scale),
  };
}

/** Four standard deviations: scaled targets are of the order of one, whatever the unit. */
function scaleOf({ rows, target }: TrainingPlan): number {
  let sum = 0;
  let squares = 0;
  for (const row of rows) sum += target[row] as number;
  const mean = sum / rows.length;
  for (const row of rows) squares += ((target[row] as number) - mean) ** 2;
  return 4 * Math.sqrt(squares / rows.length) || 1;
}
