/** Starts that the service refuses [platform §1.2]: one line that says what to do. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folders } from './per-test.ts';
import { runCommand, serviceEnvironment } from './running-service.ts';

test('[identity §1] the environment must not switch off the check of certificates', () => {
  const env = serviceEnvironment(folders(), { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  const ended = runCommand('serve', [], env);
  expect(ended.status).toBe(1);
  expect(ended.stderr).toMatch(/^setpoint: NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates/m);
});

test('[alarms §2.2] an alarm about backups that nothing makes, of a site in PostgreSQL', () => {
  const of = folders();
  writeFileSync(join(of.config, 'service.yaml'), 'alarms: { backup_overdue_ms: 1 }');
  const onServer = { SVC_DATABASE_URL: 'postgres://127.0.0.1:1/site' };
  const ended = runCommand('serve', [], serviceEnvironment(of, onServer));
  expect(ended.status).toBe(1);
  expect(ended.stderr).toMatch(/^setpoint: service\.yaml: alarms\.backup_overdue_ms watches setpoint backup/m);
  // With 0 the start goes on, to the server that is not there.
  writeFileSync(join(of.config, 'service.yaml'), 'alarms: { backup_overdue_ms: 0 }');
  expect(runCommand('serve', [], serviceEnvironment(of, onServer)).stderr).toContain('ECONNREFUSED');
});
