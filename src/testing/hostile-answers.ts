/**
 * Answers of a hostile processor, each made from a valid result, with the refusal that it must get. Texts chosen by the processor
 * contain `leakMark`, which no refusal may repeat.
 */
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { ProducedResult } from '../api/processing.ts';
import { type PatchOperation, patched } from '../base/json-patch.ts';
import { hostileResults } from '../processor-kit/conformance/hostile-results.ts';
import { rawResponse } from './raw-server.ts';

export const leakMark = 'LEAK-10.1.2.3-/etc/secret';
const media = 'application/vnd.svc.data-processing+json;version=1';

export interface HostileAnswer {
  readonly name: string;
  /** `outcome`, then check, path and rule of a rejection, or the reason of an unavailability. */
  readonly expected: string;
  /** Never ends by itself: the caller's deadline has to end it. */
  readonly endless?: boolean;
  behave(socket: Socket, result: ProducedResult): void;
}

function sends(name: string, expected: string, bytes: (result: ProducedResult) => Uint8Array): HostileAnswer {
  return { name, expected, behave: (socket, result) => void socket.end(bytes(result)) };
}

const ok = (body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Buffer =>
  rawResponse(200, { 'content-type': media, ...headers }, body);

function text(name: string, expected: string, change: (json: string) => string | Uint8Array): HostileAnswer {
  return sends(name, expected, (result) => ok(change(JSON.stringify(result))));
}

function patch(name: string, expected: string, ...operations: readonly PatchOperation[]): HostileAnswer {
  return sends(name, `rejected ${expected}`, (result) => ok(JSON.stringify(patched<unknown>(result, operations))));
}

const replace = (path: string, value: unknown): PatchOperation => ({ op: 'replace', path, value });
const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path, value });
const remove = (path: string): PatchOperation => ({ op: 'remove', path });

/** Every member of every object, absent and null, and every object with an additional member. */
export function mutations(result: ProducedResult): HostileAnswer[] {
  const answers: HostileAnswer[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Array.isArray(value))
      answers.push(
        patch(
          `a member more in ${path || 'the result'}`,
          `shape ${path} unknown_member`,
          add(`${path}/${leakMark.replaceAll('/', '~1')}`, 1),
        ),
      );
    for (const [name, member] of Object.entries(value)) {
      const place = `${path}/${name}`;
      if (!Array.isArray(value)) {
        answers.push(patch(`${place} absent`, absence[place] ?? `shape ${place} required`, remove(place)));
        answers.push(
          patch(`${place} null`, place === '/schema' ? 'schema /schema' : `shape ${place}`, replace(place, null)),
        );
      }
      walk(member, place);
    }
  };
  walk(result, '');
  return answers;
}

/** Omissions other than a missing member of the shape. */
const absence: Readonly<Record<string, string>> = {
  '/schema': 'schema /schema version',
  '/status': 'shape /status value',
  '/artifact': 'artifact /artifact required',
};

/** Valid JSON that answers another question or another time, or that was never asked for. */
export const untrueAnswers: readonly HostileAnswer[] = [
  ...hostileResults.map(({ name, expected, patch: operations }) => patch(name, expected, ...operations)),
  patch('a warning that is a text', 'shape /warnings/0', replace('/warnings', [leakMark])),
];

/** Texts that are not unambiguous JSON. */
export const unreadableAnswers: readonly HostileAnswer[] = [
  text('an empty body', 'rejected json  json', () => ''),
  text('half a body', 'rejected json  json', (json) => json.slice(0, json.length / 2)),
  text('two documents', 'rejected json  json', (json) => json + json),
  text('something behind it', 'rejected json  json', (json) => `${json} ${leakMark}`),
  text('HTML as JSON', 'rejected json  json', () => `<html>${leakMark}</html>`),
  text('NaN', 'rejected json  json', (json) => json.replace(/"value":[\d.]+/, '"value":NaN')),
  text('Infinity', 'rejected json  json', (json) => json.replace(/"value":[\d.]+/, '"value":-Infinity')),
  text('a number that overflows', 'rejected shape /output/points/0/value type', (json) =>
    json.replace(/"value":[\d.]+/, '"value":1e999'),
  ),
  text('a comment', 'rejected json  json', (json) => `/* ${leakMark} */${json}`),
  text('a comma too many', 'rejected json  json', (json) => json.replace('}', ',}')),
  text('single quotes', 'rejected json  json', (json) => json.replaceAll('"', "'")),
  text('a duplicate member', 'rejected json  duplicate_member', (json) =>
    json.replace('"status"', '"status":"unavailable","status"'),
  ),
  text('a duplicate member in a point', 'rejected json  duplicate_member', (json) =>
    json.replace('"value"', '"value":1,"value"'),
  ),
  text('a duplicate member behind an escape', 'rejected json  duplicate_member', (json) =>
    json.replace('"status"', '"st\\u0061tus":"unavailable","status"'),
  ),
  text('__proto__', 'rejected json  proto_member', (json) =>
    json.replace('"status"', '"__proto__":{"status":"produced"},"status"'),
  ),
  text('__proto__ behind an escape', 'rejected json  proto_member', (json) =>
    json.replace('"status"', '"__proto\\u005f_":{},"status"'),
  ),
  text('a constructor member', 'rejected shape  unknown_member', (json) =>
    json.replace('"status"', '"constructor":{"prototype":{}},"status"'),
  ),
  text('a lone surrogate', 'rejected json  lone_surrogate', (json) => json.replace('"target":"', '"target":"\\ud800')),
  text('a lone surrogate in a name', 'rejected json  lone_surrogate', (json) =>
    json.replace('"status"', '"\\udc00":1,"status"'),
  ),
  text('bytes that are no UTF-8', 'rejected json  utf8', (json) =>
    Buffer.concat([Buffer.from(json.slice(0, -1)), Buffer.from([0xff, 0x7d])]),
  ),
  text('UTF-16', 'rejected json  utf8', (json) => Buffer.from(`\ufeff${json}`, 'utf16le')),
  text('a byte order mark', 'rejected json  json', (json) => `\ufeff${json}`),
  text('nested a million deep', 'rejected json', () => '['.repeat(1_000_000) + ']'.repeat(1_000_000)),
  text('a list', 'rejected shape  type', (json) => `[${json}]`),
  text('a string', 'rejected shape  type', (json) => JSON.stringify(json)),
  text('null', 'rejected shape  type', () => 'null'),
  text('an endless name', 'rejected shape  unknown_member', (json) =>
    json.replace('"status"', `"${leakMark.repeat(1000)}":1,"status"`),
  ),
];

const bomb = Buffer.alloc(8_000_000, ' ');
const head = (lines: string): Buffer => Buffer.from(`HTTP/1.1 200 OK\r\n${lines}\r\n\r\n`, 'latin1');

function errorBody(changes: object = {}): string {
  const envelope = {
    schema: 'svc.data-processing.error.v1',
    request_id: '',
    code: 'FRAME_INVALID',
    category: 'invalid_data',
  };
  return JSON.stringify({ ...envelope, message: leakMark, retryable: false, details: { path: leakMark }, ...changes });
}

const error = (status: number, changes: object = {}): Buffer =>
  rawResponse(status, { 'content-type': media }, errorBody(changes));

/** HTTP that violates the contract, and errors without its envelope. */
export const untypedAnswers: readonly HostileAnswer[] = [
  ...[
    'application/json',
    'text/html',
    'text/plain',
    'application/octet-stream',
    'application/vnd.svc.data-processing+json',
    `${media.slice(0, -1)}2`,
    `${media};version=2`,
    `${media};charset=latin1`,
    `${media};evil=${leakMark}`,
  ].map((type) =>
    sends(`media type ${type}`, 'rejected media_type', (result) =>
      ok(JSON.stringify(result), { 'content-type': type }),
    ),
  ),
  sends('no media type', 'rejected media_type', (result) => rawResponse(200, {}, JSON.stringify(result))),
  sends('two media types', 'rejected media_type', (result) =>
    ok(JSON.stringify(result), { 'Content-Type': 'text/html' }),
  ),
  sends('a gzip bomb', 'rejected content_encoding', () => ok(gzipSync(bomb), { 'content-encoding': 'gzip' })),
  sends('deflate', 'rejected content_encoding', () => ok(deflateSync(bomb), { 'content-encoding': 'deflate' })),
  sends('brotli', 'rejected content_encoding', () =>
    ok(brotliCompressSync(Buffer.alloc(1000)), { 'content-encoding': 'br' }),
  ),
  sends('gzip that is not announced', 'rejected json  utf8', (result) => ok(gzipSync(JSON.stringify(result)))),
  ...[201, 202, 203, 204, 206, 301, 302, 303, 307, 308, 402, 418, 501].map((status) =>
    sends(`status ${status}`, 'rejected http_status', (result) =>
      rawResponse(
        status,
        { 'content-type': media, location: `http://${leakMark}` },
        status === 204 ? '' : JSON.stringify(result),
      ),
    ),
  ),
  ...[400, 401, 403, 404, 413, 415, 422].map((status) =>
    sends(`HTML with ${status}`, 'rejected error_envelope', () =>
      rawResponse(status, { 'content-type': 'text/html' }, leakMark),
    ),
  ),
  ...[500, 502, 503, 504].map((status) =>
    sends(`HTML with ${status}`, status === 500 ? 'unavailable PROCESSOR_FAILED' : 'unavailable PROXY_ERROR', () =>
      rawResponse(status, { 'content-type': 'text/html' }, leakMark),
    ),
  ),
  sends('HTML with 429', 'unavailable PROCESSOR_BUSY', () => rawResponse(429, {}, leakMark)),
  sends('a result with 422', 'rejected error_envelope', (result) =>
    rawResponse(422, { 'content-type': media }, JSON.stringify(result)),
  ),
  sends('an error of another category', 'rejected error_envelope', () => error(422, { category: 'capacity' })),
  sends("an error with another's request id", 'rejected error_envelope', () => error(422, { request_id: leakMark })),
  sends('an error with a code that is a text', 'rejected error_envelope', () => error(422, { code: leakMark })),
  sends('an error with a member more', 'rejected error_envelope', () => error(422, { stack: leakMark })),
  sends('an error of a megabyte', 'rejected error_envelope', () => error(422, { message: leakMark.repeat(50_000) })),
  sends('a refusal', 'refused 422 FRAME_INVALID', () => error(422)),
  sends('a failure with a long text', 'unavailable PROXY_ERROR', () =>
    error(503, { category: 'unavailable', message: leakMark.repeat(50_000) }),
  ),
  sends('advice that is no number', 'unavailable MODEL_RUNTIME_UNAVAILABLE', () =>
    error(503, {
      category: 'unavailable',
      code: 'MODEL_RUNTIME_UNAVAILABLE',
      retryable: true,
      details: { retry_after_seconds: leakMark },
    }),
  ),
  sends('the error schema with 200', 'rejected schema /schema', () => ok(errorBody())),
  sends('no HTTP at all', 'rejected http_status  http', () => Buffer.from(`220 ${leakMark} ESMTP\r\n`)),
  sends('another protocol version', 'rejected http_status  http', () => Buffer.from('HTTP/7.0 200 OK\r\n\r\n')),
  sends('headers without end', 'rejected max_response_bytes', () => head(`x: ${leakMark.repeat(5000)}`)),
  sends('two lengths', 'rejected http_status  http', (result) =>
    Buffer.concat([
      head(`content-type: ${media}\r\ncontent-length: 5\r\ncontent-length: 6`),
      Buffer.from(JSON.stringify(result)),
    ]),
  ),
  sends('a chunk size that is none', 'rejected http_status  http', () =>
    Buffer.concat([head(`content-type: ${media}\r\ntransfer-encoding: chunked`), Buffer.from('zz\r\n')]),
  ),
  sends('ten gigabytes promised', 'rejected max_response_bytes', () => ok('{', { 'content-length': '10737418240' })),
  sends('less than promised', 'unavailable DISCONNECTED', (result) =>
    ok(JSON.stringify(result), { 'content-length': '2000' }),
  ),
  sends('only a head', 'unavailable DISCONNECTED', () => head(`content-type: ${media}\r\ncontent-length: 10`)),
  sends('nothing', 'unavailable DISCONNECTED', () => Buffer.alloc(0)),
  { name: 'a reset', expected: 'unavailable DISCONNECTED', behave: (socket) => void socket.resetAndDestroy() },
  {
    name: 'a reset in the body',
    expected: 'unavailable DISCONNECTED',
    behave: (socket) => void socket.write(ok('{"a":', { 'content-length': '100' }), () => socket.resetAndDestroy()),
  },
];

/** Answers that never end. */
export const endlessAnswers: readonly HostileAnswer[] = [
  { name: 'a hang', expected: 'timeout', endless: true, behave: () => undefined },
  {
    name: 'a hang after the head',
    expected: 'timeout',
    endless: true,
    behave: (socket) => void socket.write(head(`content-type: ${media}\r\ncontent-length: 100`)),
  },
  {
    name: 'a hang in the head',
    expected: 'timeout',
    endless: true,
    behave: (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-'),
  },
  { name: 'a drip', expected: 'timeout', endless: true, behave: drip },
  {
    name: 'continue for ever',
    expected: 'timeout',
    endless: true,
    behave: (socket) => void socket.write('HTTP/1.1 102 Processing\r\n\r\n'),
  },
  { name: 'ten gigabytes, chunked', expected: 'rejected max_response_bytes', behave: flood },
];

function drip(socket: Socket, result: ProducedResult): void {
  const body = JSON.stringify(result);
  socket.write(head(`content-type: ${media}\r\ncontent-length: ${body.length}`));
  // One byte per turn of the event loop, and the last one never.
  for (const byte of body.slice(0, -1)) socket.write(byte);
}

function flood(socket: Socket): void {
  socket.write(head(`content-type: ${media}\r\ntransfer-encoding: chunked`));
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, ' '), Buffer.from('\r\n')]);
  let left = 10 * 1024 ** 3;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      left -= 65_536;
      if (!socket.write(chunk)) return void socket.once('drain', more);
    }
  };
  more();
}
