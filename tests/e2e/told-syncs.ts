/**
 * For `--import`: adds a line with the path to the file `SYNC_LOG` whenever the program syncs a file. While the file `SYNC_REFUSED` exists,
 * the path in it is refused.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const log = process.env['SYNC_LOG'] ?? '';
const refused = process.env['SYNC_REFUSED'] ?? '';
const { openSync, fsyncSync } = fs;
const paths = new Map<number, string>();

fs.openSync = (path, ...more) => {
  const handle = openSync(path, ...more);
  paths.set(handle, String(path));
  return handle;
};
fs.fsyncSync = (handle) => {
  if (fs.existsSync(refused) && fs.readFileSync(refused, 'utf8') === paths.get(handle))
    throw new Error('EIO: i/o error, fsync');
  fsyncSync(handle);
  fs.appendFileSync(log, `${paths.get(handle)}\n`);
};
syncBuiltinESMExports();
