/** Loaded before a program (`node --import`): the optional packages, which `npm ci --omit=dev` leaves out, are not found. */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>;
};
const leftOut = Object.keys(peerDependencies);

registerHooks({
  resolve(specifier, context, next) {
    if (!leftOut.some((name) => specifier === name || specifier.startsWith(`${name}/`)))
      return next(specifier, context);
    throw Object.assign(new Error(`Cannot find package '${specifier}' imported from ${context.parentURL}`), {
      code: 'ERR_MODULE_NOT_FOUND',
    });
  },
});
