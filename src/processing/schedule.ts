/**
 * Scheduled forecasts [data-processing §8]: times, requests and the timer. The caller makes the call, which takes
 * the path of every other one.
 */
import type { ProcessTaskRequest } from '../api/processing.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Log } from '../base/log.ts';
import { formatTimestamp } from '../base/timestamp.ts';
import type { TaskDeclaration } from '../contract/task/declaration.ts';
import type { CommissionedRoute } from './commission/commissioned.ts';
import type { ScheduleSettings } from './commission/routes.ts';

export type ScheduledRoute = Pick<CommissionedRoute, 'task' | 'binding'> & {
  readonly route: { readonly schedule: ScheduleSettings };
};

export function isScheduled(route: CommissionedRoute): route is CommissionedRoute & ScheduledRoute {
  return route.route.schedule !== null;
}

/** The next instant after `nowMs` at which a route is due: `offset_seconds` after a multiple of `every_seconds` since the epoch. */
export function nextRunMs({ every_seconds, offset_seconds = 0 }: ScheduleSettings, nowMs: number): number {
  const [everyMs, offsetMs] = [every_seconds * 1000, offset_seconds * 1000];
  return (Math.floor((nowMs - offsetMs) / everyMs) + 1) * everyMs + offsetMs;
}

/** The request of a run at `nowMs`: its `as_of` is the newest settled label. */
export function scheduledRequest({ task, binding, route }: ScheduledRoute, nowMs: number): ProcessTaskRequest {
  const { cadence_seconds: cadence, settle_seconds: settle, horizon_steps: stepsMax } = task.frame;
  const cadenceMs = cadence * 1000;
  const asOfMs = Math.floor((nowMs - settle * 1000) / cadenceMs) * cadenceMs;
  const { horizon_steps: steps = stepsMax, quantiles = usualQuantiles(task) } = route.schedule;
  return {
    task_id: task.id,
    expected_task_revision: task.revision,
    binding_id: binding.id,
    expected_binding_revision: binding.revision,
    as_of: formatTimestamp(asOfMs),
    options: { kind: 'forecast', horizon_steps: steps, ...(quantiles.length > 0 && { quantiles: [...quantiles] }) },
  };
}

/** The wall clock may be set while a route waits, and no timer counts a suspension: it is read this often. */
const lookEveryMs = 60_000;
const half = 0.5;
const bands = [
  [0.1, 0.9],
  [0.2, 0.8],
  [0.3, 0.7],
  [0.4, 0.6],
] as const;

/** Deciles up to `max_quantiles`: bands from the widest on, and the median for an odd number. */
export function usualQuantiles({ output }: TaskDeclaration): readonly number[] {
  const pairs = bands.slice(0, Math.floor(output.max_quantiles / 2));
  const withMedian = output.max_quantiles > 2 * pairs.length;
  return [...pairs.flat(), ...(withMedian ? [half] : [])].sort((one, other) => one - other);
}

export interface ScheduleParts {
  readonly routes: readonly ScheduledRoute[];
  readonly clock: Clock;
  readonly log: Log;
  /** Whether this process runs them now. */
  isOwn(): boolean;
  /** Throws the Fault that a caller would see. */
  call(request: ProcessTaskRequest): Promise<void>;
}

/** A forecast whose last scheduled run failed. */
interface FailedForecast {
  readonly task: string;
  readonly binding: string;
  readonly reason: string;
}

export interface Schedule extends Timer {
  /** Null while none failed and some have not run, or another process controls. */
  failed(): readonly FailedForecast[] | null;
  /** Runs each route now, in addition to its schedule, until cancelled. A failure is logged like that of any other run. */
  runNow(): Promise<void>;
}

/** Runs every route when it is due; if its previous run is still in progress, it is skipped and logged. */
export function runSchedule(parts: ScheduleParts): Schedule {
  const timers = parts.routes.map((route) => new RouteTimer(route, parts));
  return {
    cancel: () => timers.forEach((timer) => timer.cancel()),
    failed() {
      const outcomes = timers.map((timer) => timer.outcome());
      const failed = outcomes.filter((outcome) => outcome !== null && outcome !== 'succeeded');
      return failed.length === 0 && outcomes.includes(null) ? null : failed;
    },
    async runNow() {
      for (const timer of timers) await timer.run();
    },
  };
}

class RouteTimer implements Timer {
  readonly #route: ScheduledRoute;
  readonly #parts: ScheduleParts;
  #timer: Timer | undefined;
  #running = false;
  #ended = false;
  /** Of the last run of this process; null before. */
  #outcome: FailedForecast | 'succeeded' | null = null;

  constructor(route: ScheduledRoute, parts: ScheduleParts) {
    this.#route = route;
    this.#parts = parts;
    this.#waitUntil(nextRunMs(route.route.schedule, parts.clock.wallMs()));
  }

  cancel(): void {
    this.#ended = true;
    this.#timer?.cancel();
  }

  outcome(): FailedForecast | 'succeeded' | null {
    return this.#outcome;
  }

  #waitUntil(dueMs: number): void {
    const { clock } = this.#parts;
    this.#timer = clock.after(Math.min(lookEveryMs, dueMs - clock.wallMs()), () => {
      if (this.#ended) return;
      const nowMs = clock.wallMs();
      const nextMs = nextRunMs(this.#route.route.schedule, nowMs);
      if (nowMs < dueMs) {
        this.#waitUntil(Math.min(dueMs, nextMs));
        return;
      }
      void this.run();
      this.#waitUntil(nextMs);
    });
  }

  async run(): Promise<void> {
    const { clock, log, isOwn, call } = this.#parts;
    const about = { task: this.#route.task.id, binding: this.#route.binding.id };
    if (!isOwn()) this.#outcome = null;
    if (this.#ended || !isOwn()) return;
    if (this.#running) {
      log.warn('skipped a scheduled forecast: the previous one is still running', about);
      return;
    }
    this.#running = true;
    try {
      await call(scheduledRequest(this.#route, clock.wallMs()));
      this.#outcome = 'succeeded';
    } catch (error) {
      const reason = error instanceof Fault ? { code: error.code, reason: error.message } : { reason: String(error) };
      this.#outcome = { ...about, reason: reason.reason };
      log.warn('a scheduled forecast failed', { ...about, ...reason });
    } finally {
      this.#running = false;
    }
  }
}
