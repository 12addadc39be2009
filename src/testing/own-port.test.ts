import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownPort } from './own-port.ts';

test('no port twice, and none of the ephemeral range', async () => {
  const mine = await Promise.all(Array.from({ length: 50 }, ownPort));
  expect(new Set(mine).size).toBe(50);
  expect(Math.max(...mine)).toBeLessThan(32_768);
});

test('a port that another process owns or listens on is passed over', async () => {
  const port = await ownPort();
  const listening = await ownPort();
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(listening, '127.0.0.1', resolve));
  const another = `
    import { ownPort } from ${JSON.stringify(join(import.meta.dirname, 'own-port.ts'))};
    const all = [];
    for (let count = 0; count < 5_900; count++) all.push(await ownPort());
    console.log(JSON.stringify(all));`;
  try {
    const theirs = execFileSync(process.execPath, ['--input-type=module', '-e', another], { encoding: 'utf8' });
    expect(JSON.parse(theirs)).toHaveLength(5_900);
    expect(JSON.parse(theirs)).not.toContain(port);
    expect(JSON.parse(theirs)).not.toContain(listening);
  } finally {
    server.close();
  }
});
