/** The tool protocol on standard input and output; resolves when the other side has gone. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createToolServer, type ToolServerParts } from './server.ts';

export async function serveStdio(parts: ToolServerParts): Promise<void> {
  const server = createToolServer(parts);
  const transport = new StdioServerTransport();
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
  });
  // The library waits for a message; an input that ended brings none.
  process.stdin.once('end', () => void server.close());
  await server.connect(transport);
  await closed;
}
