/**
 * Simulated time of the world: one task at a time, ordered by time and then by when it was scheduled. A killed process takes its
 * tasks with it. Between two tasks every pending promise is settled, so that the order never depends on chance.
 */
import { type Clock, checkDelay } from '../../base/clock.ts';

interface Task {
  readonly dueMs: number;
  readonly order: number;
  readonly run: () => void;
  readonly owner: ProcessClock;
  done: boolean;
}

interface Watch {
  readonly cells: Int32Array<SharedArrayBuffer>;
  readonly index: number;
  readonly seen: number;
  readonly task: Task;
}

export interface ProcessClock extends Clock {
  /** The process is gone: none of its waits ends. */
  kill(): void;
}

export class WorldClock {
  #nowMs = 1000;
  #order = 0;
  #heap: Task[] = [];
  #watches: Watch[] = [];
  readonly #wallOffsetMs = 1_700_000_000_000;

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whether a task waits; without one, time stops until a task is scheduled. */
  get isWaiting(): boolean {
    return this.#heap.some((task) => !task.done);
  }

  /** Runs the next task due by `untilMs`. If there is none, advances the time to `untilMs` and returns false. */
  step(untilMs: number): boolean {
    this.#ringChanged();
    while (this.#heap[0]?.done === true) this.#pop();
    const task = this.#heap[0];
    if (task === undefined || task.dueMs > untilMs) {
      this.#nowMs = untilMs;
      return false;
    }
    this.#pop();
    this.#nowMs = Math.max(this.#nowMs, task.dueMs);
    task.done = true;
    task.run();
    return true;
  }

  process(): ProcessClock {
    const dead = { is: false };
    const add = (delayMs: number, run: () => void): Task => {
      const task = {
        dueMs: this.#nowMs + Math.max(0, delayMs),
        order: this.#order++,
        run,
        owner: clock,
        done: dead.is,
      };
      if (!dead.is) this.#push(task);
      return task;
    };
    const clock: ProcessClock = {
      wallMs: () => Math.floor(this.#wallOffsetMs + this.#nowMs),
      monotonicMs: () => this.#nowMs,
      after(delayMs, run) {
        checkDelay(delayMs);
        const task = add(delayMs, run);
        return { cancel: () => void (task.done = true) };
      },
      soon: (run) => void add(0, run),
      onChange: (cells, index, seen, renewMs, run) => {
        if (dead.is) return;
        const task = add(renewMs, run);
        this.#watches.push({ cells, index, seen, task });
      },
      kill: () => {
        dead.is = true;
        for (const task of this.#heap) if (task.owner === clock) task.done = true;
      },
    };
    return clock;
  }

  /** Waiters of a changed cell are woken in the next turn. */
  #ringChanged(): void {
    if (this.#watches.length === 0) return;
    this.#watches = this.#watches.filter((watch) => {
      if (watch.task.done) return false;
      if (Atomics.load(watch.cells, watch.index) === watch.seen) return true;
      watch.task.done = true;
      const { run, owner } = watch.task;
      this.#push({ dueMs: this.#nowMs, order: this.#order++, run, owner, done: false });
      return false;
    });
  }

  #push(task: Task): void {
    const heap = this.#heap;
    heap.push(task);
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!before(heap[at], heap[parent])) break;
      swap(heap, at, parent);
      at = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (heap.length === 0 || last === undefined) return;
    heap[0] = last;
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const child = before(heap[left + 1], heap[left]) ? left + 1 : left;
      if (!before(heap[child], heap[at])) break;
      swap(heap, at, child);
      at = child;
    }
  }
}

function before(a: Task | undefined, b: Task | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

function swap(heap: Task[], a: number, b: number): void {
  const [one, other] = [heap[a], heap[b]];
  if (one === undefined || other === undefined) throw new Error('the heap is torn');
  heap[a] = other;
  heap[b] = one;
}

/** Whether it has ended by now, for one that steps the clock until it has. */
export function isDone(work: Promise<unknown>): { is: boolean } {
  const done = { is: false };
  const end = (): void => void (done.is = true);
  work.then(end, end);
  return done;
}
