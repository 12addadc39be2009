/**
 * Clients that change and read a few rules on all machines at once, as a seed determines, and record their requests, the times, and
 * the answers (docs/guides/several-machines.md: no lost update).
 */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { sleep, systemClock } from '../../src/base/clock.ts';
import { SeededStream } from '../../src/base/seeded.ts';
import { signingKey } from '../../src/gateway/local-keys.ts';
import type { ModelDocument, RecordedOperation, RuleInput, RuleOutput } from '../../src/testing/rule-model.ts';
import { editorFlow, type Json, type Reply, type TestService, waitFor } from './running-service.ts';
import type { Machine } from './several-machines.ts';

/** One call, and its id in the audit. */
export type RecordedCall = RecordedOperation & {
  readonly correlationId: string;
  /** Whether the answer said that the audit has both of its records. */
  readonly isRecorded: boolean;
};

interface Answer {
  readonly ruleId: number | null;
  readonly output: RuleOutput | null;
  readonly isRecorded: boolean;
}

interface Book {
  readonly calls: RecordedCall[];
  /** Times are relative to this. */
  readonly beganMs: number;
}

/** The rules in use; a deleted one is replaced by the client that deleted it. */
interface Shelf {
  readonly slots: number[];
  readonly gone: number[];
  newest: number;
}

export interface Load {
  readonly calls: readonly RecordedCall[];
  /** Resolves when this many more calls have ended; rejects as soon as a client has seen an impossible answer. */
  more(count: number, deadlineMs: number): Promise<void>;
  /** From now on no client begins a call; when all calls have ended, every rule is read once more on every machine. */
  finish(): Promise<readonly RecordedCall[]>;
  /** The same without that last read, whatever the clients have seen. */
  stop(): Promise<void>;
}

const api = '/api/v1/automation/api';
const thinkMsMax = 12;
const tenants = ['tenant-a', 'tenant-b'];

/** Creates the rules and starts the clients. */
export async function startClients(
  machines: readonly Machine[],
  plan: { readonly seed: number; readonly rules: number; readonly clientsEach: number },
): Promise<Load> {
  const book: Book = { calls: [], beganMs: systemClock.monotonicMs() };
  const { calls } = book;
  const shelf: Shelf = { slots: [], gone: [], newest: 0 };
  const [first] = machines;
  if (first === undefined) throw new Error('there is no machine');
  const founder = createClient(first, 'founder', book);
  for (let count = 0; count < plan.rules; count++) {
    const { ruleId } = await founder({ kind: 'create', name: `rule ${count}`, description: null }, null);
    if (ruleId === null) throw new Error('a rule could not be made');
    shelf.slots.push(ruleId);
    shelf.newest = ruleId;
  }
  const state = { finished: false };
  const running = machines.flatMap((machine, place) =>
    Array.from({ length: plan.clientsEach }, async (_, index) => {
      const random = new SeededStream(plan.seed * 1000 + place * 100 + index);
      const client = createClient(machine, `${machine.name}/${index}`, book);
      const search = createSearcher(machine, tenants[index % tenants.length] ?? '');
      const seen = new Map<number, number>();
      for (let turn = 0; !state.finished; turn++) {
        await sleep(systemClock, random.next() * thinkMsMax);
        if (random.below(12) === 0) await search();
        const { ruleId, input } = choose(random, shelf, seen, `${machine.name}/${index} ${turn}`);
        const answer = await client(input, ruleId);
        await learn(shelf, seen, input, answer, () =>
          client({ kind: 'create', name: `instead ${turn}`, description: null }, null),
        );
      }
    }),
  );
  const ended = Promise.all(running);
  // `more` and `finish` report impossible observations of a client.
  ended.catch(() => undefined);
  return {
    calls,
    async more(count, deadlineMs) {
      const enough = calls.length + count;
      await Promise.race([ended, waitFor(() => calls.length >= enough || undefined, deadlineMs)]);
    },
    async finish() {
      state.finished = true;
      await ended;
      // The rules at the end, as every machine lists them.
      const rules = [...new Set(calls.flatMap(({ ruleId }) => (ruleId === null ? [] : [ruleId])))];
      for (const machine of machines) {
        const reader = createClient(machine, `${machine.name}/last`, book);
        for (const ruleId of rules) await reader({ kind: 'read' }, ruleId);
      }
      return calls;
    },
    async stop() {
      state.finished = true;
      await Promise.allSettled(running);
    },
  };
}

/** A client's next step, and its rule. */
function choose(
  random: SeededStream,
  shelf: Shelf,
  seen: ReadonlyMap<number, number>,
  text: string,
): { readonly ruleId: number; readonly input: RuleInput } {
  const odd = random.below(100);
  // Rarely one that was deleted, or the next one before it exists.
  const ruleId =
    odd < 4 && shelf.gone.length > 0
      ? (shelf.gone[random.below(shelf.gone.length)] ?? 0)
      : odd < 8
        ? shelf.newest + 1
        : (shelf.slots[random.below(shelf.slots.length)] ?? 0);
  const known = seen.get(ruleId) ?? null;
  const dice = random.below(10);
  const expected = known === null || dice < 4 ? null : dice < 9 ? known : Math.max(1, known - 1);
  const what = random.below(100);
  if (what < 38) return { ruleId, input: { kind: 'read' } };
  if (what < 85) return { ruleId, input: { kind: 'update', changes: changesOf(random, text), expected } };
  if (what < 97) return { ruleId, input: { kind: what < 91 ? 'enable' : 'disable', expected } };
  return { ruleId, input: { kind: 'delete', expected } };
}

/** One field or two, with values that no other client writes at that time. */
function changesOf(random: SeededStream, text: string): Extract<RuleInput, { kind: 'update' }>['changes'] {
  const number = random.below(1_000_000);
  const fields = [
    { name: `name ${text}` },
    { description: random.below(5) === 0 ? null : `description ${text}` },
    { priority: number },
    { cooldown_ms: number },
    { flow: number % 400 },
  ];
  const [one, other] = [random.below(fields.length), random.below(fields.length)];
  return { ...fields[one], ...fields[other] };
}

async function learn(
  shelf: Shelf,
  seen: Map<number, number>,
  input: RuleInput,
  { ruleId, output }: Answer,
  replace: () => Promise<Answer>,
): Promise<void> {
  if (ruleId === null || output === null || output.status === 'id in use' || output.status === 404) return;
  if (output.revision !== null) seen.set(ruleId, output.revision);
  if (input.kind !== 'delete' || output.status !== 200) return;
  shelf.gone.push(ruleId);
  const made = await replace();
  const slot = shelf.slots.indexOf(ruleId);
  if (made.ruleId === null || slot < 0) return;
  shelf.slots[slot] = made.ruleId;
  shelf.newest = Math.max(shelf.newest, made.ruleId);
}

type Client = (input: RuleInput, ruleId: number | null) => Promise<Answer>;

/** Sends a request and records it; waits while the machine does not run. */
function createClient(machine: Machine, name: string, { calls, beganMs }: Book): Client {
  const nowMs = (): number => systemClock.monotonicMs() - beganMs;
  return async (input, ruleId) => {
    const service = await running(machine);
    const correlationId = randomUUID();
    const invokedMs = nowMs();
    const answer = await ask(service, input, ruleId, correlationId);
    const returnedMs = answer.output === null ? null : nowMs();
    calls.push({ client: name, input, invokedMs, returnedMs, correlationId, ...answer });
    return answer;
  };
}

const restartDeadlineMs = 60_000;

function running(machine: Machine): Promise<TestService> {
  return waitFor(() => {
    const { service } = machine;
    const runs = service !== null && service.process.exitCode === null && service.process.signalCode === null;
    return runs ? service : undefined;
  }, restartDeadlineMs);
}

async function ask(
  service: TestService,
  input: RuleInput,
  ruleId: number | null,
  correlationId: string,
): Promise<Answer> {
  try {
    return answerOf(input, ruleId, await send(service, input, ruleId, correlationId));
  } catch (error) {
    // The process or the connection ended; whether the change was made is not known. Any other error is a failure.
    if (!(error instanceof TypeError)) throw error;
    return { ruleId, output: null, isRecorded: false };
  }
}

function send(service: TestService, input: RuleInput, ruleId: number | null, correlationId: string): Promise<Reply> {
  const headers = { 'x-correlation-id': correlationId };
  const path = `${api}/rules${ruleId === null ? '' : `/${ruleId}`}`;
  if (input.kind === 'read') return service.request('GET', path, { headers });
  const confirmed = { ...headers, 'x-svc-confirmed': 'true' };
  if (input.kind === 'create') {
    const { name, description } = input;
    const body = { name, ...(description === null ? {} : { description }), confirmed: true };
    return service.request('POST', path, { headers: confirmed, body });
  }
  if (input.kind === 'update') {
    const { flow, ...fields } = input.changes;
    const expected = input.expected === null ? {} : { expected_revision: input.expected };
    const flowField = flow === undefined ? {} : { flow_json: flow === null ? null : editorFlow('x > 10', flow) };
    return service.request('PUT', path, {
      headers: confirmed,
      body: { ...fields, ...flowField, ...expected, confirmed: true },
    });
  }
  const ifMatch = input.expected === null ? {} : { 'if-match': `"${input.expected}"` };
  return service.request(
    input.kind === 'delete' ? 'DELETE' : 'POST',
    input.kind === 'delete' ? path : `${path}/${input.kind}`,
    { headers: { ...confirmed, ...ifMatch }, body: { confirmed: true } },
  );
}

function answerOf(input: RuleInput, ruleId: number | null, reply: Reply): Answer {
  const isRecorded = reply.headers.get('x-svc-audit') === 'recorded';
  // Unavailable now: the change may have been made all the same.
  if (reply.status === 503) return { ruleId, output: null, isRecorded: false };
  if (reply.status === 404) return { ruleId, output: { status: 404 }, isRecorded };
  if (reply.status === 409) {
    const revision = Number(reply.body['error']?.['details']?.['revision']);
    return { ruleId, output: { status: 409, revision }, isRecorded };
  }
  if (reply.status !== 200) throw new Error(`${JSON.stringify(input)} answered ${reply.status}: ${reply.text}`);
  const tag = reply.headers.get('etag');
  if (input.kind === 'delete') return { ruleId, output: { status: 200, revision: null }, isRecorded };
  const revision = Number(tag?.replaceAll('"', ''));
  if (!Number.isSafeInteger(revision)) throw new Error(`no revision: ${reply.text}`);
  if (input.kind !== 'read') {
    const made = input.kind === 'create' ? Number(reply.body['data']?.['id']) : ruleId;
    return { ruleId: made, output: { status: 200, revision }, isRecorded };
  }
  const document = documentOf(reply.body['data'] ?? {});
  if (document.revision !== revision) throw new Error(`the entity tag ${tag} is not that of ${reply.text}`);
  return { ruleId, output: { status: 200, revision, document }, isRecorded };
}

function documentOf(data: Json): ModelDocument {
  const { name, description, priority, cooldown_ms, enabled, revision, flow_json, nodes_json } = data;
  const [flow, topology] = [flow_json, nodes_json].map(numberIn);
  // Both columns must come from one flow.
  if (flow !== topology) throw new Error(`the flow of rule ${String(data['id'])} is of two revisions`);
  return {
    name: String(name),
    description: description === null ? null : String(description),
    priority: Number(priority),
    cooldown_ms: Number(cooldown_ms),
    enabled: Boolean(enabled),
    revision: Number(revision),
    flow: flow ?? null,
  };
}

/** The number that the flow writes; null without a flow. */
function numberIn(document: Json | undefined): number | null {
  const found = /"value":"?(\d+)/.exec(JSON.stringify(document ?? null))?.[1];
  return found === undefined ? null : Number(found);
}

/** Searches the audit of a tenant that is not the site's: each search is an entry of that tenant's own access log. */
function createSearcher(machine: Machine, tenant: string): () => Promise<void> {
  const token = new SignJWT({ role: 'Admin', tenant_id: tenant, project_id: 'elsewhere' })
    .setProtectedHeader({ alg: 'EdDSA' })
    .setSubject('auditor')
    .setExpirationTime('1h')
    .sign(signingKey(machine.folders.data).privateKey);
  return async () => {
    const service = await running(machine);
    try {
      const reply = await service.request('GET', '/api/v1/audit/events?limit=1', { token: await token });
      if (![200, 503].includes(reply.status)) throw new Error(`a search answered ${reply.status}: ${reply.text}`);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  };
}
