/** The tool protocol on standard input and output; resolves when the other side has gone. */
import { once } from 'node:events';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createToolServer, type ToolServerParts } from './server.ts';

export async function serveStdio(parts: ToolServerParts): Promise<void> {
  const server = createToolServer(parts);
  const transport = new StdioServerTransport();
  await server.connect(transport);
  // The library waits for a message; an input that ended brings none.
  await once(process.stdin, 'end');
  await server.close();
}
