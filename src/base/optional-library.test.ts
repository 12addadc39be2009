/** A library that is missing is distinguished from one that fails. */
import { expect, test } from 'vitest';
import { leftOut, optionalLibrary } from './optional-library.ts';

const failing = (code: string, message: string) => () => Promise.reject(Object.assign(new Error(message), { code }));

test('[platform §1.7] a package that is not found is null', async () => {
  expect(await optionalLibrary(failing('ERR_MODULE_NOT_FOUND', "Cannot find package 'x' imported from y"))).toBeNull();
  const missing: string = 'no-such-package-anywhere';
  expect(await optionalLibrary(() => import(missing))).toBeNull();
});

test('an installed one is returned; a missing file of it, and its own failure, are thrown', async () => {
  expect(await optionalLibrary(() => Promise.resolve({ value: 1 }))).toEqual({ value: 1 });
  const lacking = failing('ERR_MODULE_NOT_FOUND', "Cannot find module '/x/index.js' imported from y");
  await expect(optionalLibrary(lacking)).rejects.toThrow('Cannot find module');
  await expect(optionalLibrary(failing('EACCES', 'no access'))).rejects.toThrow('no access');
});

test('the error for a missing one names the package and how to install it', () => {
  expect(leftOut('sending traces', 'the-package')).toBe(
    'sending traces needs the package the-package, which is not installed: install it too, or use the built program',
  );
});
