/**
 * Runs SQLite's integrity check of a database file, in a separate thread: it reads every page and every index, which takes about as
 * long as the verification of the chain, and runs beside it.
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

const database = new DatabaseSync(String(workerData), { readOnly: true });
try {
  // Indexes too: an incomplete one hides events from searches.
  const found = database.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
  parentPort?.postMessage(found === 'ok' ? null : String(found));
} finally {
  database.close();
}
