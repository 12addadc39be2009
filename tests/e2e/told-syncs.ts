/** For `--import`: adds a line with the path to the file `SYNC_LOG` whenever the program syncs a file. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const log = process.env['SYNC_LOG'] ?? '';
const { openSync, fsyncSync } = fs;
const paths = new Map<number, string>();

fs.openSync = (path, ...more) => {
  const handle = openSync(path, ...more);
  paths.set(handle, String(path));
  return handle;
};
fs.fsyncSync = (handle) => {
  fsyncSync(handle);
  fs.appendFileSync(log, `${paths.get(handle)}\n`);
};
syncBuiltinESMExports();
