/**
 * `GET /ready` [platform §4.1]: whether the service can do its work, in status words only. The route is public, so
 * its checks run at most once a second.
 */
import type { BoundCapability } from '../api/capability.ts';
import { platform } from '../api/platform.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';

const readyNames = ['storage', 'audit', 'scheduler', 'devices'] as const;
type ReadyName = (typeof readyNames)[number];

/** True if its part works, false if it does not for now; broken if a person must act. */
type Health = boolean | 'broken';

/** Each returns whether its part works; a check that throws or times out fails. */
export type ReadyChecks = Readonly<Record<ReadyName, () => Health | Promise<Health>>>;

/** Answers are reused for this time. */
const keptMs = 1000;
const checkDeadlineMs = 2000;

type Words = Readonly<Record<ReadyName, 'ok' | 'unavailable' | 'broken'>>;

export function readyCapability(checks: ReadyChecks, clock: Clock): BoundCapability {
  let last: { readonly atMs: number; readonly words: Promise<Words> } | undefined;
  const current = (): Promise<Words> => {
    const nowMs = clock.monotonicMs();
    if (last === undefined || nowMs - last.atMs >= keptMs) last = { atMs: nowMs, words: look(checks, clock) };
    return last.words;
  };
  return {
    descriptor: platform.ready,
    resource: () => ({ kind: 'platform', id: 'platform-ready' }),
    async handler() {
      const words = await current();
      if (Object.values(words).every((word) => word === 'ok')) return { data: { status: 'ready', checks: words } };
      const broken = readyNames.filter((name) => words[name] !== 'ok');
      throw new Fault('not-ready', `not ready: ${broken.join(', ')}`, { details: { checks: words } });
    },
  };
}

async function look(checks: ReadyChecks, clock: Clock): Promise<Words> {
  const answers = await Promise.all(readyNames.map((name) => healthOf(checks[name], clock)));
  const word = (name: ReadyName) => {
    const answer = answers[readyNames.indexOf(name)];
    return answer === 'broken' ? 'broken' : answer === true ? 'ok' : 'unavailable';
  };
  return { storage: word('storage'), audit: word('audit'), scheduler: word('scheduler'), devices: word('devices') };
}

async function healthOf(check: ReadyChecks[ReadyName], clock: Clock): Promise<Health> {
  const answered = new AbortController();
  const late = sleep(clock, checkDeadlineMs, answered.signal).then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([Promise.resolve().then(check), late]);
  } catch {
    return false;
  } finally {
    answered.abort();
  }
}
