/** A file of the embedded engine, read for a move (docs/guides/several-machines.md). */
import { DatabaseSync } from 'node:sqlite';

/** One snapshot of the file. */
export function openSource(file: string, format: number): DatabaseSync {
  const source = new DatabaseSync(file, { readOnly: true });
  const found = Number(source.prepare('PRAGMA user_version').get()?.['user_version']);
  if (found !== format) {
    source.close();
    throw new Error(
      `${file} has data format ${found}, this program moves ${format}: start the service of this version once`,
    );
  }
  source.exec('BEGIN');
  return source;
}
