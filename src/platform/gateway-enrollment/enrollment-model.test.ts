/**
 * The enrollment of gateways against a naive model [platform §6.4]: random sequences of commands with few keys,
 * gateways, tenants and tokens, so that they collide; then the same commands at once, in every order of the store's answers.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../base/log.ts';
import { at } from '../../testing/application-calls.ts';
import { gatewayId, openEnrollment, otherGatewayId, requestFingerprint } from '../../testing/gateway-enrollment.ts';
import { createConsumeClaim } from './consume-claim.ts';
import { inMemoryGateways } from './in-memory.ts';
import { createIssueClaim } from './issue-claim.ts';
import type { Gateways } from './ports.ts';
import { createRegisterGateway } from './register-gateway.ts';

const often = <Value>(usual: Value, rare: Value) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(rare) });

const who = {
  tenantId: often('tenant-1', 'tenant-2'),
  subjectId: often('ada', 'eve'),
  idempotencyKey: fc.nat(29).map((number) => `key-${String(number).padStart(8, '0')}`),
  gatewayId: often(gatewayId, otherGatewayId),
};

const command = fc.oneof(
  fc.record({ kind: fc.constant('register'), ...who, displayName: often('Roof', 'Cellar') }),
  fc.record({ kind: fc.constant('issue'), ...who, aheadMs: fc.constantFrom(1, 1000, 86_400_000, 0, 86_400_001) }),
  // The n-th token that was issued, or one that never was.
  fc.record({ kind: fc.constant('consume'), ...who, token: fc.nat(2) }),
);

const step = fc.oneof(
  { weight: 6, arbitrary: command },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.constantFrom(1, 999, 86_400_000) }) },
  // An earlier step again, counted from the end.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('again'), back: fc.integer({ min: 1, max: 6 }) }) },
);

/** Outcomes that the sequences must reach, or they prove little. */
const everyEnd = [
  ['registered 1 Roof', 'awaiting-claim 2 Roof with a token', 'awaiting-claim 3 Roof with a token'],
  ['claimed 3 Roof', 'claimed 4 Roof'],
  ['replay registered 1 Roof', 'replay awaiting-claim 2 Roof', 'replay claimed 3 Roof'],
  ['idempotency-conflict', 'invalid-input', 'gateway-already-exists', 'gateway-not-found'],
  ['enrollment-claim-active', 'gateway-already-claimed', 'invalid-enrollment-token', 'enrollment-claim-expired'],
].flat();

type Step = { kind: string; tenantId: string; subjectId: string; idempotencyKey: string; gatewayId: string } & {
  displayName?: string | undefined;
  aheadMs?: number | undefined;
  token?: number | undefined;
};

/** The caller's view of a result. */
type Answer = string;

interface Row {
  revision: number;
  state: 'registered' | 'awaiting-claim' | 'claimed';
  displayName: string;
  token: number | null;
  issuedMs: number;
  expiresMs: number;
}

/** As simple as possible: rows and receipts by text, tokens by the number of their issue. */
class Model {
  readonly rows = new Map<string, Row>();
  readonly receipts = new Map<string, { readonly request: string; readonly answer: Answer }>();
  tokens = 0;

  run(now: number, { kind, tenantId, subjectId, idempotencyKey, gatewayId: id, ...rest }: Step): Answer {
    const expiresMs = now + (rest.aheadMs ?? 0);
    // For an issue the request includes the moment of expiry, so it differs when time has passed.
    const wanted = kind === 'issue' ? expiresMs : (rest.displayName ?? rest.token);
    const request = [kind, subjectId, id, wanted].join(' ');
    const receiptKey = `${tenantId} ${idempotencyKey}`;
    const earlier = this.receipts.get(receiptKey);
    if (earlier !== undefined) return earlier.request === request ? `replay ${earlier.answer}` : 'idempotency-conflict';
    const refused = this.change(now, kind, `${tenantId} ${id}`, rest, expiresMs);
    if (refused !== null) return refused;
    const row = this.rows.get(`${tenantId} ${id}`);
    const answer = `${row?.state} ${row?.revision} ${row?.displayName}`;
    this.receipts.set(receiptKey, { request, answer });
    return kind === 'issue' ? `${answer} with a token` : answer;
  }

  private change(now: number, kind: string, key: string, rest: Partial<Step>, expiresMs: number): string | null {
    const row = this.rows.get(key);
    if (kind === 'register') {
      if (row !== undefined) return 'gateway-already-exists';
      const displayName = rest.displayName ?? '';
      this.rows.set(key, { revision: 1, state: 'registered', displayName, token: null, issuedMs: 0, expiresMs: 0 });
      return null;
    }
    if (kind === 'issue') {
      if (expiresMs <= now || expiresMs > now + 86_400_000) return 'invalid-input';
      if (row === undefined) return 'gateway-not-found';
      if (row.state === 'claimed') return 'gateway-already-claimed';
      if (row.state === 'awaiting-claim' && now < row.expiresMs) return 'enrollment-claim-active';
      const { displayName, revision } = row;
      const token = this.tokens++;
      this.rows.set(key, {
        displayName,
        revision: revision + 1,
        state: 'awaiting-claim',
        token,
        issuedMs: now,
        expiresMs,
      });
      return null;
    }
    if (row?.state !== 'awaiting-claim' || row.token !== rest.token) return 'invalid-enrollment-token';
    if (now < row.issuedMs || now >= row.expiresMs) return 'enrollment-claim-expired';
    this.rows.set(key, { ...row, state: 'claimed', revision: row.revision + 1 });
    return null;
  }
}

type Enrollment = Pick<ReturnType<typeof openEnrollment>, 'clock' | 'register' | 'issue' | 'consume'>;

/** Makes the real call that `step` describes; tokens are collected in the order of their issue. */
async function call({ clock, register, issue, consume }: Enrollment, tokens: string[], one: Step): Promise<Answer> {
  const useCase = { register, issue, consume }[one.kind] ?? register;
  const { permission, subjectKind, confirmation } = useCase.contract;
  const context = {
    tenantId: one.tenantId,
    projectId: 'project-1',
    subjectKind: subjectKind ?? 'user',
    subjectId: one.subjectId,
    permissions: permission === null ? [] : [permission],
    idempotencyKey: one.idempotencyKey,
    issuedAt: at(clock, 0),
    expiresAt: at(clock, 60_000),
    ...(confirmation === 'always' ? { confirmation: { method: 'explicit', confirmedAt: at(clock) } } : {}),
  };
  const never = Buffer.alloc(32, 255).toString('base64url');
  const inputs: Record<string, object> = {
    register: { displayName: one.displayName },
    issue: { claimExpiresAt: at(clock, one.aheadMs ?? 0) },
    consume: { enrollmentToken: tokens[one.token ?? 0] ?? never, credentialRequestFingerprint: requestFingerprint },
  };
  const result = await useCase(context, { gatewayId: one.gatewayId, ...inputs[one.kind] });
  if (!result.ok) return result.code;
  const { state, revision, displayName } = result.gateway;
  const seen = `${state} ${revision} ${displayName}`;
  if ('enrollmentToken' in result && typeof result.enrollmentToken === 'string') {
    tokens.push(result.enrollmentToken);
    return `${seen} with a token`;
  }
  return result.replayed ? `replay ${seen}` : seen;
}

describe('enrollment of gateways', () => {
  test('[platform §6.4] every sequence of commands ends as the naive model says', async () => {
    const reached = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }), async (steps) => {
        const enrollment = openEnrollment();
        const model = new Model();
        const tokens: string[] = [];
        const asked: Step[] = [];
        for (const one of steps) {
          if ('ms' in one) enrollment.clock.advance(one.ms);
          const next: Step | undefined = 'back' in one ? asked.at(-one.back) : 'ms' in one ? undefined : one;
          if (next === undefined) continue;
          asked.push(next);
          const now = enrollment.clock.wallMs();
          // All tokens that were never issued are the same wrong one.
          const known = (next.token ?? -1) < tokens.length ? next : { ...next, token: -1 };
          const end = await call(enrollment, tokens, known);
          expect(end).toBe(model.run(now, known));
          reached.add(end);
        }
        expect(tokens).toHaveLength(model.tokens);
        const rows = enrollment.store.all();
        expect(rows.map(({ revision, state }) => [state, revision]).toSorted()).toEqual(
          [...model.rows.values()].map(({ revision, state }) => [state, revision]).toSorted(),
        );
        expect(enrollment.store.journal.events).toHaveLength(model.receipts.size);
      }),
      { numRuns: 500 },
    );
    expect(everyEnd.filter((end) => !reached.has(end))).toEqual([]);
  });

  test('[platform §6.4] concurrent commands, in any order of the store, commit once per key and once per revision', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(command, { minLength: 2, maxLength: 12 }).map((some) => [...some, ...some]),
        async (scheduler, steps) => {
          const { enrollment, store } = scheduledEnrollment(scheduler);
          const tokens: string[] = [];
          const calls = steps.map((one) =>
            call(enrollment, tokens, { ...one, token: 'token' in one ? -1 : undefined }),
          );
          const answers = await scheduler.waitFor(Promise.all(calls));
          const committed = answers.filter((answer) => /^(registered|awaiting-claim|claimed) /.test(answer));
          expect(store.journal.events).toHaveLength(committed.length);
          expect(store.journal.audit).toHaveLength(answers.filter((answer) => !answer.startsWith('replay ')).length);
          const commits = store.journal.events.map(({ scope, data }) =>
            [scope.tenantId, data.gatewayId, data.revision].join(' '),
          );
          expect(new Set(commits).size).toBe(commits.length);
          expect(tokens).toHaveLength(store.journal.events.filter(({ type }) => type.endsWith('.issued')).length);
          // No call that repeats the key and request of a successful one was refused, unless it came before the registration.
          for (const [index, one] of steps.entries()) {
            const same = answers.filter(
              (answer, other) => answer !== 'gateway-not-found' && JSON.stringify(steps[other]) === JSON.stringify(one),
            );
            const succeeded = same.filter((answer) => / \d+ /.test(answer));
            if (succeeded.length > 0) expect(succeeded.length, answers[index]).toBe(same.length);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Each call of the store and each of its answers waits to be released. */
function scheduledEnrollment(scheduler: fc.Scheduler): {
  enrollment: Enrollment;
  store: ReturnType<typeof inMemoryGateways>;
} {
  const store = inMemoryGateways();
  const { clock } = openEnrollment();
  const gateways: Gateways = {
    findReceipt: scheduler.scheduleFunction(store.findReceipt),
    find: scheduler.scheduleFunction(store.find),
    commit: scheduler.scheduleFunction(store.commit),
    recordRefusal: scheduler.scheduleFunction(store.recordRefusal),
  };
  let made = 0;
  const parts = { gateways, clock, log: silentLog, newId: () => `fresh-${String(++made).padStart(8, '0')}` };
  return {
    store,
    enrollment: {
      clock,
      register: createRegisterGateway(parts),
      issue: createIssueClaim({ ...parts, freshBytes: (count) => new Uint8Array(count).fill(++made) }),
      consume: createConsumeClaim(parts),
    },
  };
}
