/** A loopback HTTP server around a function that answers like a processor. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AnswerRequest } from '../processing/processor/transport/in-process.ts';

export interface AnswerServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function answerServer(answer: AnswerRequest): Promise<AnswerServer> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const headers = Object.fromEntries(
      Object.entries(request.headersDistinct).map(([name, values]) => [name, values?.join(', ')]),
    );
    const route = request.url === '/v1/health' ? 'health' : 'process';
    const { status, contentType, contentEncoding, body } = await answer(
      route,
      { headers, body: Buffer.concat(chunks) },
      gone.signal,
    );
    response.writeHead(status, {
      ...(contentType !== undefined && { 'content-type': contentType }),
      ...(contentEncoding !== undefined && { 'content-encoding': contentEncoding }),
    });
    response.end(body);
  };
  const server = createServer((request, response) => {
    respond(request, response).catch(() => void response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => void server.close(() => resolve()));
    },
  };
}
