import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../base/log.ts';
import { simulatedClock } from '../testing/simulated-clock.ts';
import { createRuleLog } from './rule-log.ts';

const limits = { log_file_bytes: 100, log_files: 2, log_flush_ms: 500, log_queue_bytes: 1000 };
const line = (text: string): string => text.padEnd(39, '.');

describe('[rules §7.5] per-rule log', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rule-log-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('one line a run, one file a rule', async () => {
    const log = createRuleLog(join(folder, 'rules'), limits, simulatedClock(), silentLog);
    log.append(7, '{"a":1}');
    log.append(8, '{"b":2}');
    log.append(7, '{"a":3}');
    await log.close();
    expect(readFileSync(join(folder, 'rules', '7.log'), 'utf8')).toBe('{"a":1}\n{"a":3}\n');
    expect(readFileSync(join(folder, 'rules', '8.log'), 'utf8')).toBe('{"b":2}\n');
  });

  test('a file at its limit is rotated, the number of files is limited, and no file exceeds the limit', async () => {
    const log = createRuleLog(folder, limits, simulatedClock(), silentLog);
    for (let number = 1; number <= 9; number++) log.append(1, line(`run ${number}`));
    await log.flush();
    expect(readdirSync(folder).toSorted()).toEqual(['1.log', '1.log.1', '1.log.2']);
    expect(readFileSync(join(folder, '1.log'), 'utf8')).toBe(`${line('run 9')}\n`);
    expect(readFileSync(join(folder, '1.log.1'), 'utf8')).toBe(`${line('run 7')}\n${line('run 8')}\n`);
    expect(readFileSync(join(folder, '1.log.2'), 'utf8')).toBe(`${line('run 5')}\n${line('run 6')}\n`);
  });

  test('a file left by an earlier start counts towards the limit', async () => {
    writeFileSync(join(folder, '1.log'), `${line('old 1')}\n${line('old 2')}\n`);
    const log = createRuleLog(folder, limits, simulatedClock(), silentLog);
    log.append(1, line('new'));
    await log.flush();
    expect(readFileSync(join(folder, '1.log'), 'utf8')).toBe(`${line('new')}\n`);
    expect(readFileSync(join(folder, '1.log.1'), 'utf8')).toContain('old 2');
  });

  test('lines that arrive while a batch is written form one more batch, which is written without further lines', async () => {
    const clock = simulatedClock();
    const log = createRuleLog(folder, limits, clock, silentLog);
    const text = (): string =>
      readdirSync(folder).includes('1.log') ? readFileSync(join(folder, '1.log'), 'utf8') : '';
    log.append(1, 'first');
    clock.advance(limits.log_flush_ms);
    // The first batch is being written: no timer runs for what arrives now.
    log.append(1, 'second');
    clock.advance(limits.log_flush_ms);
    log.append(1, 'third');
    await expect.poll(text).toBe('first\n');
    await expect
      .poll(() => {
        clock.advance(limits.log_flush_ms);
        return text();
      })
      .toBe('first\nsecond\nthird\n');
    await log.close();
  });

  test('lines beyond the buffer, and those that the disk rejects, are dropped and counted', async () => {
    const full = createRuleLog(folder, { ...limits, log_queue_bytes: 80 }, simulatedClock(), silentLog);
    for (let number = 1; number <= 3; number++) full.append(1, line(`run ${number}`));
    expect(full.dropped()).toBe(1);
    await full.close();

    // A disk that stalls: what was handed to it and is not yet written still counts.
    const stalled = createRuleLog(folder, { ...limits, log_queue_bytes: 80 }, simulatedClock(), silentLog);
    const flushes: Promise<void>[] = [];
    for (let number = 1; number <= 5; number++) {
      stalled.append(2, line(`run ${number}`));
      flushes.push(stalled.flush());
    }
    expect(stalled.dropped()).toBe(3);
    await Promise.all(flushes);
    stalled.append(2, line('run 6'));
    await stalled.close();
    expect(stalled.dropped()).toBe(3);

    writeFileSync(join(folder, 'file'), '');
    const said: string[] = [];
    const told = { ...silentLog, warn: (message: string) => void said.push(message) };
    const refused = createRuleLog(join(folder, 'file'), limits, simulatedClock(), told);
    const attempt = async (): Promise<void> => {
      refused.append(1, 'x');
      await refused.flush();
    };
    await attempt();
    expect(refused.dropped()).toBe(1);
    await attempt();
    expect(refused.dropped()).toBe(2);
    expect(said).toEqual(['cannot write the rule log']);
    // Once it was written again, the next failure is said again.
    rmSync(join(folder, 'file'));
    await attempt();
    rmSync(join(folder, 'file'), { recursive: true });
    writeFileSync(join(folder, 'file'), '');
    await attempt();
    expect(said).toHaveLength(2);
    await refused.close();
  });
});
