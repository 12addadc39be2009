/**
 * Kills the service at random moments while clients change rules, starts it again, and checks that the audit trail contains
 * everything that happened [platform §3], [audit §6]: no change without its accepted event, no gap, no event left open, an
 * unbroken chain.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'vitest';
import type { DatabasePlace } from '../../src/storage/database.ts';
import { runOn } from '../../src/testing/engines.ts';
import {
  editorFlow,
  type Reply,
  runCommand,
  serviceEnvironment,
  startTestService,
  type TestService,
  testFolders,
  virtualSite,
  waitFor,
} from './running-service.ts';

const clients = 8;
const killWithinMs = 400;
const firstAnswerMs = 30_000;
/** Checkpoints are frequent; a start must not fail because the machine is busy with other work. */
const limits = `
http: { mutations_per_minute: 1000000 }
audit: { checkpoint_events: 25 }
automation: { engine_call_timeout_ms: 120000 }
`;
/** The answers to clients; a kill may lose only changes without an answer. */
interface Told {
  readonly created: Map<number, string>;
  readonly deleted: Set<number>;
  /** Hashes of the accepted records, by sequence: every answer of a mutation is a receipt [audit §9.5]. */
  readonly receipts: Map<number, string>;
}

export async function killRounds(
  rounds: number,
  onRound: (round: number) => void = () => undefined,
): Promise<{ readonly events: number; readonly unknown: number }> {
  const folders = testFolders(virtualSite);
  folders.write('service.yaml', limits);
  const told: Told = { created: new Map(), deleted: new Set(), receipts: new Map() };
  let running: TestService | undefined;
  try {
    for (let round = 0; round < rounds; round++) {
      running = await startTestService(folders);
      await loadUntilKilled(running, round, told);
      await checkTrail(join(folders.data, 'site.sqlite'), told);
      // As the crash left it, before any start repairs anything.
      expectVerified(folders);
      onRound(round + 1);
    }
    running = await startTestService(folders);
    expect(await running.stop()).toBe(0);
    expectVerified(folders);
    return checkClosed(join(folders.data, 'site.sqlite'));
  } finally {
    await running?.stop('SIGKILL');
    folders.remove();
  }
}

export function expectVerified(folders: ReturnType<typeof testFolders>): void {
  const verified = runCommand('setpoint', ['audit', 'verify', '--json'], serviceEnvironment(folders));
  expect(verified.status, verified.stdout + verified.stderr).toBe(0);
}

async function loadUntilKilled(service: TestService, round: number, told: Told): Promise<void> {
  await service.token('Engineer');
  await service.token('Admin');
  const state = { killed: false };
  const change = async (method: string, path: string, body?: Readonly<Record<string, unknown>>): Promise<Reply> => {
    const answer = await service.command(method, path, body);
    const sequence = answer.headers.get('x-svc-audit-sequence');
    if (sequence !== null) told.receipts.set(Number(sequence), answer.headers.get('x-svc-audit-hash') ?? '');
    return answer;
  };
  /** Everything else that users change: revisions, an actuator, a parameter, tokens. */
  const others = async (id: number, turn: number): Promise<void> => {
    await change('POST', `/rules/${id}/restore`, { revision: 1 });
    await change('POST', '/points/1/action/1/override', { value: turn % 10, for_seconds: 60, reason: 'a kill' });
    await change('PUT', '/parameters/limit', { value: turn % 100 });
    const revoked = { token_id: `token-${id}-${turn}`, reason: 'a kill', confirmed: true };
    const answer = await service.request('POST', '/api/v1/identity/tokens/revoke', {
      token: await service.token('Admin'),
      body: revoked,
      headers: { 'x-svc-confirmed': 'true' },
    });
    const sequence = answer.headers.get('x-svc-audit-sequence');
    if (sequence !== null) told.receipts.set(Number(sequence), answer.headers.get('x-svc-audit-hash') ?? '');
  };
  const work = async (client: number): Promise<void> => {
    for (let turn = 0; !state.killed; turn++) {
      const name = `rule-${round}-${client}-${turn}`;
      const made = await change('POST', '/rules', { name });
      if (made.status !== 200) throw new Error(`create answered ${made.status}: ${made.text}`);
      const id = Number(made.body['data']?.['id']);
      told.created.set(id, name);
      await change('PUT', `/rules/${id}`, { flow_json: editorFlow(), description: `text of ${name}` });
      if (turn % 4 === client % 4) await others(id, turn);
      if (turn % 2 === 1) continue;
      if ((await change('DELETE', `/rules/${id}`)).status === 200) told.deleted.add(id);
    }
  };
  // A request that the kill interrupted fails; only an answer counts.
  const load = Array.from({ length: clients }, (_, client) =>
    work(client).catch((error: unknown) => {
      if (!state.killed) throw error;
    }),
  );
  // However busy the machine is, some kills come when changes have been answered.
  const before = told.receipts.size;
  if (round % 2 === 0) await waitFor(() => (told.receipts.size > before ? true : undefined), firstAnswerMs);
  await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * killWithinMs));
  state.killed = true;
  await service.stop('SIGKILL');
  await Promise.all(load);
}

interface StoredEvent {
  readonly sequence: number;
  readonly action: string;
  readonly outcome: string;
  readonly details: string | null;
  readonly resource_id: string;
  readonly hash: string;
}

const allEvents = `SELECT e.sequence, action, outcome, resource_id, e.hash, details FROM audit_event e
  JOIN audit_chain c ON c.chain_id = e.chain_id AND c.log = 'events'
  LEFT JOIN audit_details d ON d.chain_id = e.chain_id AND d.sequence = e.sequence ORDER BY e.sequence`;

function eventsOf(database: DatabaseSync): readonly StoredEvent[] {
  return database.prepare(allEvents).all() as unknown as StoredEvent[];
}

/** No event is missing, and each receipt belongs to an existing event. */
export async function checkReceipts(place: DatabasePlace, receipts: ReadonlyMap<number, string>): Promise<void> {
  const events = await eventsIn(place);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  for (const [sequence, hash] of receipts) expect([sequence, events[sequence - 1]?.hash]).toEqual([sequence, hash]);
}

async function eventsIn(place: DatabasePlace): Promise<readonly StoredEvent[]> {
  if (typeof place !== 'string') return (await runOn(place, allEvents)) as unknown as StoredEvent[];
  const database = new DatabaseSync(place);
  try {
    return eventsOf(database);
  } finally {
    database.close();
  }
}

/** Every change that is stored, or was answered to a client, has its accepted event. */
async function checkTrail(file: string, told: Told): Promise<void> {
  await checkReceipts(file, told.receipts);
  const database = new DatabaseSync(file);
  try {
    const events = eventsOf(database);
    const accepted = events.filter((event) => event.outcome === 'accepted');
    const inputs = accepted.map((event) => JSON.parse(event.details ?? '{}') as { input?: Record<string, unknown> });
    const names = new Set(inputs.map(({ input }) => input?.['name']));
    const descriptions = new Set(inputs.map(({ input }) => input?.['description']));
    const deletions = new Set(accepted.filter((one) => one.action.endsWith('.delete')).map((one) => one.resource_id));
    const rules = database.prepare('SELECT id, name, description FROM rules').all();
    const stored = new Map(rules.map((row) => [Number(row['id']), row]));
    for (const row of rules) {
      expect(names).toContain(row['name']);
      if (row['description'] !== null) expect(descriptions).toContain(row['description']);
    }
    for (const [id, name] of told.created) {
      expect(names).toContain(name);
      if (!stored.has(id)) expect(deletions).toContain(`automation-rule:${id}`);
    }
    for (const id of told.deleted) expect(stored.has(id)).toBe(false);
  } finally {
    database.close();
  }
}

/** After a start, no accepted event is open. */
export function checkClosed(file: string): { readonly events: number; readonly unknown: number } {
  const database = new DatabaseSync(file);
  const open = `SELECT count(*) AS n FROM audit_event a WHERE outcome = 'accepted'
    AND (SELECT count(*) FROM audit_event c WHERE c.accepted_event_id = a.event_id) <> 1`;
  try {
    expect(database.prepare(open).get()?.['n']).toBe(0);
    const events = eventsOf(database);
    return { events: events.length, unknown: events.filter((event) => event.outcome === 'unknown').length };
  } finally {
    database.close();
  }
}
