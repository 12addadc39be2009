/** A real gateway on loopback for tests: an audit log in memory, and tokens that are the names of subjects. */
import { connect } from 'node:net';
import type {
  BoundCapability,
  CallAudit,
  Capability,
  HandledCapability,
  Permission,
  Subject,
} from '../api/capability.ts';
import type { AuditEntry } from '../audit/event.ts';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { silentLog } from '../base/log.ts';
import type { Identity } from '../gateway/identity.ts';
import { type GatewayLimits, gatewayLimits } from '../gateway/limits.ts';
import { createRateLimits } from '../gateway/rate-limit.ts';
import { createServer, type Server } from '../gateway/server.ts';

export const testSite = { tenantId: 'tenant', projectId: 'project' };

export interface TestGateway {
  readonly server: Server;
  readonly base: string;
  readonly port: number;
  readonly entries: readonly AuditEntry[];
  /** From now on, records that match cannot be written. */
  failAudit(fails: (entry: AuditEntry) => boolean): void;
  /** From now on, writing a record that matches never ends. */
  stallAudit(stalls: (entry: AuditEntry) => boolean): void;
}

export function testSubject(subjectId: string, permissions: readonly Permission[]): Subject {
  return { kind: 'user', subjectId, ...testSite, roles: [], permissions: new Set(permissions) };
}

export async function startTestGateway(
  capabilities: readonly BoundCapability[],
  options: {
    limits?: Partial<GatewayLimits>;
    subjects?: Readonly<Record<string, Subject>>;
    session?: Identity['authenticateSession'];
    /** Adds to the server before it listens. */
    before?: (server: Server) => Promise<void>;
  } = {},
): Promise<TestGateway> {
  const entries: AuditEntry[] = [];
  let auditFails: (entry: AuditEntry) => boolean = () => false;
  let auditStalls = auditFails;
  const limits = { ...gatewayLimits, ...options.limits };
  const server = createServer({
    capabilities,
    identity: {
      authenticate: async (header) => options.subjects?.[header?.replace(/^Bearer /, '') ?? ''] ?? null,
      authenticateSession: options.session ?? (async () => null),
      authenticateToken: async () => null,
    },
    audit: {
      async append(entry) {
        if (auditFails(entry)) throw new Fault('audit-unavailable', 'the audit record could not be written');
        if (auditStalls(entry)) await new Promise(() => undefined);
        entries.push(entry);
        return { eventId: `event-${entries.length}`, sequence: entries.length, hash: 'ab'.repeat(32) };
      },
      appendIn: () => Promise.reject(new Error('not used')),
    },
    site: testSite,
    rateLimits: createRateLimits(limits),
    log: silentLog,
    limits,
    clock: systemClock,
  });
  await options.before?.(server);
  const { port } = await server.listen('127.0.0.1', 0);
  return {
    server,
    port,
    base: `http://127.0.0.1:${port}`,
    entries,
    failAudit: (fails) => {
      auditFails = fails;
    },
    stallAudit: (stalls) => {
      auditStalls = stalls;
    },
  };
}

/** For handlers that are called without a pipeline and add nothing to its records. */
export const noCallAudit: CallAudit = {
  note: () => undefined,
  record: () => Promise.reject(new Error('not used')),
};

/** A public query that answers `{"success":true}`, and whatever differs from it. */
export function testCapability(
  descriptor: Pick<Capability, 'method' | 'path' | 'params' | 'query'> & Partial<Capability>,
  handler: HandledCapability['handler'] = async () => ({ data: { success: true } }),
): BoundCapability {
  return {
    descriptor: {
      name: 'test.operation',
      summary: 'an operation of a test',
      kind: 'query',
      risk: 'low',
      permission: null,
      confirmation: 'never',
      confirmedIn: 'header',
      audit: 'not-required',
      idempotent: true,
      body: null,
      answer: descriptor.query,
      ...descriptor,
    },
    resource: () => ({ kind: 'thing', id: 'thing:test' }),
    handler,
  };
}

/** Sends `text` unchanged and returns what was received by the time the connection was closed. */
export function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += data.toString();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}
