/** Starts that the service refuses [platform §1.2]: one line that says what to do. */
import { expect, test } from 'vitest';
import { folders } from './per-test.ts';
import { runCommand, serviceEnvironment } from './running-service.ts';

test('[identity §1] the environment must not switch off the check of certificates', () => {
  const env = serviceEnvironment(folders(), { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  const ended = runCommand('serve', [], env);
  expect(ended.status).toBe(1);
  expect(ended.stderr).toMatch(/^setpoint: NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates/m);
});
