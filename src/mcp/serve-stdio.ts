/** The tool protocol on standard input and output; resolves when the other side has gone and has its answers. */
import { once } from 'node:events';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { defaultDeadlineMs } from '../api/client.ts';
import { systemClock } from '../base/clock.ts';
import { watchRequests } from './open-requests.ts';
import { createToolServer, type ToolServerParts } from './server.ts';

/** Longest wait for answers after the end of the input: a call of the service ends within its own deadline. */
const answerDeadlineMs = defaultDeadlineMs + 1000;

export async function serveStdio(parts: ToolServerParts): Promise<void> {
  const server = createToolServer(parts);
  const transport = new StdioServerTransport();
  await server.connect(transport);
  const requests = watchRequests(transport, systemClock);
  // The library waits for a message; an input that ended brings none.
  await once(process.stdin, 'end');
  await requests.answered(answerDeadlineMs);
  await server.close();
}
