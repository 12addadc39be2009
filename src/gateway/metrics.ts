/**
 * Metrics for Prometheus [platform §4.2]: the gateway's own counters, and values that other areas provide on
 * collection. If a part does not answer, its samples are absent; the metric names are always present.
 */
import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { BoundCapability } from '../api/capability.ts';
import { platform } from '../api/platform.ts';
import { countDurations, type DurationCounts } from '../base/duration-counts.ts';

export interface MetricSample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface DurationSample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly durations: DurationCounts;
}

interface Described {
  readonly name: string;
  readonly help: string;
}

/** A value read at collection. `labels` are those of its samples. */
type Measurement = Described & { readonly labels?: readonly string[] } & (
    | { readonly kind: 'counter' | 'gauge'; readonly read: () => Promise<readonly MetricSample[]> }
    | { readonly kind: 'durations'; readonly read: () => Promise<readonly DurationSample[]> }
  );

export interface Metrics {
  add(measurement: Measurement): void;
  /** Counts every answer of the server. */
  observe(fastify: FastifyInstance): void;
  authenticationFailed(): void;
  auditAppended(result: 'written' | 'failed', ms: number): void;
  text(): Promise<string>;
}

const requestBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const appendBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
const msPerSecond = 1000;

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const answers = new Map<string, RouteAnswers>();
  const failedAuthentications = new Counter({
    name: 'setpoint_authentication_failures_total',
    help: 'Requests and streams without valid credentials',
    registers,
  });
  const appends = new Counter({
    name: 'setpoint_audit_appends_total',
    help: 'Audit events to be written, by result',
    labelNames: ['result'],
    registers,
  });
  // A counter that first appears at 1 hides its first increase: all series start at 0.
  for (const result of ['written', 'failed']) appends.inc({ result }, 0);
  const appendTimes = new Histogram({
    name: 'setpoint_audit_append_seconds',
    help: 'Duration of audit appends until the event is on disk',
    buckets: appendBounds,
    registers,
  });
  const durations: (Measurement & { readonly kind: 'durations' })[] = [
    {
      name: 'setpoint_http_request_seconds',
      help: 'From the request to the end of its answer',
      kind: 'durations',
      read: async () => [...answers.values()].map((each) => each.times()),
    },
  ];
  register(
    {
      name: 'setpoint_http_requests_total',
      help: 'Answers by route and status',
      kind: 'counter',
      labels: ['method', 'route', 'status'],
      read: async () => [...answers.values()].flatMap((each) => each.statuses()),
    },
    registers,
  );
  return {
    add(measurement) {
      if (measurement.kind === 'durations') durations.push(measurement);
      else register(measurement, registers);
    },
    observe(fastify) {
      fastify.addHook('onResponse', (request, reply, done) => {
        // Unknown paths share one label, so that clients cannot create series.
        const route = request.routeOptions.url ?? 'none';
        const key = `${request.method} ${route}`;
        let known = answers.get(key);
        if (known === undefined) answers.set(key, (known = new RouteAnswers({ method: request.method, route })));
        known.add(reply.statusCode, reply.elapsedTime);
        done();
      });
    },
    authenticationFailed: () => failedAuthentications.inc(),
    auditAppended(result, ms) {
      appends.inc({ result });
      appendTimes.observe(ms / msPerSecond);
    },
    async text() {
      const own = await registry.metrics();
      const read = await Promise.all(durations.map(async (each) => durationText(each, await orNone(each.read))));
      return [own.trimEnd(), ...read, ''].join('\n');
    },
  };
}

/** Answers of one route, counted here because the metrics library hashes labels at every increment. */
class RouteAnswers {
  readonly #labels: Readonly<Record<'method' | 'route', string>>;
  readonly #byStatus = new Map<number, number>();
  readonly #times = countDurations(requestBounds);

  constructor(labels: Readonly<Record<'method' | 'route', string>>) {
    this.#labels = labels;
  }

  add(status: number, ms: number): void {
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
    this.#times.add(ms);
  }

  statuses(): readonly MetricSample[] {
    return [...this.#byStatus].map(([status, value]) => ({ labels: { ...this.#labels, status: `${status}` }, value }));
  }

  times(): DurationSample {
    return { labels: this.#labels, durations: this.#times.read() };
  }
}

/** A metric that calls back at collection; `registers` keeps a reference to it. */
function register(measurement: Measurement & { readonly kind: 'counter' | 'gauge' }, registers: Registry[]) {
  const { name, help, kind, read } = measurement;
  const labelNames = [...(measurement.labels ?? [])];
  if (kind === 'gauge') {
    return new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        this.reset();
        for (const { labels = {}, value } of await orNone(read)) this.set(labels, value);
      },
    });
  }
  return new Counter({
    name,
    help,
    labelNames,
    registers,
    // The counter is elsewhere: this copies its value.
    async collect() {
      this.reset();
      for (const { labels = {}, value } of await orNone(read)) this.inc(labels, value);
    },
  });
}

/** A part that fails must not hide the others. */
async function orNone<T>(read: () => Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await read();
  } catch {
    return [];
  }
}

/** A histogram in the text format, from buckets counted elsewhere, which the library does not support. */
function durationText({ name, help }: Described, samples: readonly DurationSample[]): string {
  const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
  for (const { labels = {}, durations } of samples) {
    const line = (suffix: string, value: number, more: Readonly<Record<string, string>> = {}): string => {
      const all = Object.entries({ ...labels, ...more }).map(([key, text]) => `${key}="${escaped(text)}"`);
      return `${name}${suffix}${all.length === 0 ? '' : `{${all.join(',')}}`} ${value}`;
    };
    let total = 0;
    durations.counts.forEach((count, index) => {
      total += count;
      lines.push(line('_bucket', total, { le: String(durations.boundsSeconds[index] ?? '+Inf') }));
    });
    lines.push(line('_sum', durations.sumSeconds), line('_count', total));
  }
  return lines.join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

export function metricsCapability(metrics: Metrics): BoundCapability {
  return {
    descriptor: platform.metrics,
    resource: () => ({ kind: 'platform', id: 'platform-metrics' }),
    async handler() {
      const text = await metrics.text();
      return { data: text, content: { type: 'text/plain; version=0.0.4; charset=utf-8', text } };
    },
  };
}
