/**
 * `npm run prepare`: builds the console, unless what is there is newer than everything that it is built from. npm prepares the
 * package on the first `npm exec setpoint` as well, and a service may be serving these files then.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'vite';

const root = join(import.meta.dirname, '..');
const built = join(import.meta.dirname, 'dist', 'index.html');
/** The console shares types, rules and client with the service. */
const sources = ['console/src', 'console/public', 'src'];
const files = ['console/index.html', 'console/vite.config.ts', 'package-lock.json'];

function changedMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

const found = sources.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
);
const newestMs = Math.max(...[...files, ...found].map((path) => changedMs(join(root, path))));
if (changedMs(built) <= newestMs)
  await build({ configFile: join(import.meta.dirname, 'vite.config.ts'), logLevel: 'warn' });
