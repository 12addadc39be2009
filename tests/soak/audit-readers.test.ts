/**
 * [audit §5]: 100 000 events read by resuming, by 50 readers of 10 kB/s at once, leave the service's heap flat.
 * Each reader reads a fiftieth of the log, so that all of it is read once in about two minutes; one more reader reads
 * the whole log as fast as it can.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { appendToChain, prepareEntry } from '../../src/audit/store/chain-store.ts';
import { openDatabase } from '../../src/databases/site-database.ts';
import { auditEntry } from '../../src/testing/audit-trail.ts';
import { startTestService, type TestFolders, testFolders, virtualSite, waitFor } from '../e2e/running-service.ts';

const events = 100_000;
const readers = 50;
const bytesPerSecond = 10_000;
const bytesPerRead = 4096;
/** A page of 100 events is about 45 kB. */
const heapGrowthMaxMb = 8;
const token = 'an-opaque-token-of-32-characters-or-more';
const scope = { tenantId: 'tenant-1', projectId: 'project-1' };

/** Writes the live heap, after a garbage collection, to standard error every second. */
const probe = `
import v8 from 'node:v8';
import vm from 'node:vm';
import { isMainThread } from 'node:worker_threads';
if (isMainThread) {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');
  setInterval(() => {
    collect();
    process.stderr.write('heap-used ' + process.memoryUsage().heapUsed + '\\n');
  }, 1000).unref();
}
`;

async function fill(folders: TestFolders): Promise<void> {
  mkdirSync(folders.data);
  const database = openDatabase(join(folders.data, 'site.sqlite'));
  const perCommit = 1000;
  const entries = Array.from({ length: perCommit }, () => prepareEntry(auditEntry({ outcome: 'succeeded' })));
  for (let stored = 0; stored < events; stored += perCommit)
    await database.transaction((within) => appendToChain(within, 'events', scope, entries, Date.UTC(2026, 0, 1)));
  await database.close();
}

/** One page, read from the socket no faster than `rate` allows; a plain socket, so that nothing reads ahead. */
function readPage(port: number, resumeAt: number, limit: number, rate: number): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = createConnection({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: Buffer.alloc(bytesPerRead),
        callback(count, buffer) {
          chunks.push(Buffer.from(buffer.subarray(0, count)));
          if (!Number.isFinite(rate)) return true;
          setTimeout(() => socket.resume(), (count / rate) * 1000);
          return false;
        },
      },
    });
    socket.on('error', reject);
    socket.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      if (!text.startsWith('HTTP/1.1 200') || !text.includes(': snapshot-complete'))
        reject(new Error(text.slice(0, 300)));
      else resolve([...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1])));
    });
    const path = `/api/v1/audit/events/stream?limit=${limit}`;
    const headers = `authorization: Bearer ${token}\r\nlast-event-id: ${resumeAt}\r\nconnection: close`;
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}\r\n\r\n`);
  });
}

/** All sequences from below `from` down to `to`, by resuming. */
async function walk(port: number, from: number, to: number, rate: number): Promise<number> {
  let next = from;
  while (next > to) {
    const ids = await readPage(port, next, Math.min(100, next - to), rate);
    for (const id of ids) if (id !== --next) throw new Error(`${id} came where ${next} was due`);
    if (ids.length === 0) throw new Error(`nothing below ${next}`);
  }
  return from - next;
}

test('50 readers of 10 kB/s walk 100 000 events and the heap stays flat', async () => {
  const folders = testFolders(virtualSite);
  await fill(folders);
  // Each page counts as a search, and leaves a record of its own.
  folders.write('service.yaml', 'http: { audit_searches_per_minute: 1000000 }\n');
  const file = join(folders.config, 'heap-probe.mjs');
  writeFileSync(file, probe);
  const service = await startTestService(folders, {
    NODE_OPTIONS: `--import=${file}`,
    SVC_LOG_LEVEL: 'info',
    SVC_CLOUD_API_BEARER_TOKEN: token,
    SVC_CLOUD_API_TENANT_ID: scope.tenantId,
    SVC_CLOUD_API_PROJECT_ID: scope.projectId,
    SVC_CLOUD_API_SUBJECT_ID: 'auditor',
    SVC_CLOUD_API_PERMISSIONS: 'audit.event.read',
  });
  const heaps = (): number[] => [...service.logs().matchAll(/heap-used (\d+)/g)].map((match) => Number(match[1]) / 1e6);
  try {
    const port = Number(new URL(service.base).port);
    // The first checkpoint covers the whole log before anything is measured.
    await waitFor(() => service.logs().includes('audit checkpoint') || undefined, 60_000);
    expect(await walk(port, events + 1, events - 999, Number.POSITIVE_INFINITY)).toBe(1000);
    const idle = heaps().length;
    await waitFor(() => heaps().length >= idle + 3 || undefined, 20_000);
    const before = Math.max(...heaps().slice(-3));

    const begunMs = Date.now();
    const share = events / readers;
    const slow = Array.from({ length: readers }, (_, index) =>
      walk(port, events + 1 - index * share, events + 1 - (index + 1) * share, bytesPerSecond),
    );
    const [whole, ...walked] = await Promise.all([walk(port, events + 1, 1, Number.POSITIVE_INFINITY), ...slow]);
    const seconds = (Date.now() - begunMs) / 1000;
    expect([whole, walked.reduce((sum, count) => sum + count, 0)]).toEqual([events, events]);
    // They were slow: at full speed each would have read its fiftieth in less than half the time.
    expect(seconds).toBeGreaterThan(60);

    const during = heaps().slice(idle);
    const third = Math.floor(during.length / 3);
    const early = Math.max(...during.slice(third, 2 * third));
    const late = Math.max(...during.slice(2 * third));
    console.log(
      `heap in MB: before ${before.toFixed(1)}, middle third ${early.toFixed(1)}, last third ${late.toFixed(1)}; ${seconds.toFixed(0)} s`,
    );
    expect(late - early).toBeLessThan(heapGrowthMaxMb / 2);
    expect(late - before).toBeLessThan(heapGrowthMaxMb);
  } finally {
    await service.stop('SIGKILL');
    folders.remove();
  }
});
