/**
 * The generated files of docs/processor-contract: JSON Schemas of the wire, and examples. Their text
 * is a function of the contract alone, so that a test can compare the committed files with it.
 */
import type { TSchema } from 'typebox';
import {
  dataProcessingRequestSchema,
  errorSchemaId,
  forecastOutputSchema,
  forecastOutputSchemaId,
  frameSchemaId,
  type ProducedResult,
  processingFrameSchema,
  processingResultSchema,
  processorErrorSchema,
  processorHealthSchema,
  requestSchemaId,
  resultSchemaId,
  taskSchemaId,
} from '../../api/processing.ts';
import { parseJson } from '../../base/json.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import { taskGrammar } from '../../contract/task/grammar.ts';
import { readTask } from '../../contract/task/read.ts';
import { processorRefusal } from '../../contract/wire/error-envelope.ts';
import { timeMs } from '../../contract/wire/normal-times.ts';
import { decodeContent, decodeEnvelope, type NormalisedRequest } from '../../contract/wire/request-decode.ts';
import { decodeResult } from '../../contract/wire/result-decode.ts';
import { fallbackFindings, resultOf } from '../server/work.ts';
import { type HostileRequest, hostileRequests } from './hostile-requests.ts';
import { type HostileResult, hostileResults } from './hostile-results.ts';

const dialect = 'https://json-schema.org/draft/2020-12/schema';

const schemas: readonly (readonly [file: string, id: string, title: string, schema: TSchema])[] = [
  ['request', requestSchemaId, 'Request to a processor', dataProcessingRequestSchema],
  ['frame', frameSchemaId, 'The data of a request', processingFrameSchema],
  ['result', resultSchemaId, 'Result of a processor', processingResultSchema],
  ['forecast-output', forecastOutputSchemaId, 'The forecast of a result', forecastOutputSchema],
  ['error', errorSchemaId, 'Why a processor does not answer', processorErrorSchema],
  ['health', 'svc.data-processing.processor-health.v1', 'How a processor is', processorHealthSchema],
  ['task', taskSchemaId, 'Task declaration', taskGrammar],
];

/** The sources of the generated files: the declaration and the two examples that are written by hand. */
export interface ContractExample {
  readonly task: TaskDeclaration;
  readonly request: NormalisedRequest;
  readonly result: ProducedResult;
}

/** The example from its files, which hold what the contract's own readers accept. */
export function readExample(taskText: string, requestText: string, resultText: string): ContractExample {
  const envelope = decodeEnvelope(parseJson(requestText));
  const content = envelope.ok ? decodeContent(envelope.value) : envelope;
  const result = decodeResult(parseJson(resultText));
  if (!envelope.ok || !content.ok) throw new Error('the example of a request is not one');
  if (!result.ok || result.value.status !== 'produced') throw new Error('the example of a result is not one');
  return {
    task: readTask(taskText, 'task.yaml').value,
    request: { ...envelope.value, ...content.value },
    result: result.value,
  };
}

/** Path below docs/processor-contract, to text. */
export function contractFiles({ task, request, result }: ContractExample): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const put = (path: string, value: unknown): void => void files.set(path, `${JSON.stringify(value, null, 2)}\n`);
  const putLines = (path: string, values: readonly object[]): void =>
    void files.set(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''));
  for (const [file, id, title, schema] of schemas)
    put(`schemas/${file}.schema.json`, { $schema: dialect, $id: `urn:${id.replace('.', ':')}`, title, ...schema });

  const { processor } = result;
  const accepted = { ok: true, request, declaration: task } as const;
  const about = { processor, issuedAtMs: timeMs(result.issued_at) };
  const [policy] = task.fallbacks;
  const fallback = policy === undefined ? null : fallbackFindings(policy, accepted, 'MODEL_UNAVAILABLE');
  if (fallback === null) throw new Error('the example task has a fallback that its example frame can serve');
  const unavailable = { reason_code: 'INSUFFICIENT_HISTORY', retryable: false };
  put('examples/result-fallback.json', resultOf(fallback, accepted, about));
  put('examples/result-unavailable.json', resultOf({ status: 'unavailable', unavailable }, accepted, about));
  const issue = { path: '/frame/quality/missing_ratio', rule: 'max_missing_ratio' };
  put('examples/error.json', processorRefusal('QUALITY_REJECTED', { requestId: request.request_id, issue }).body);
  put('examples/health.json', {
    status: 'ok',
    processor: processor.id,
    version: processor.version,
    contract: processor.contract,
  });
  putLines('examples/hostile-requests.jsonl', hostileRequests(request, task).map(requestLine));
  putLines('examples/hostile-results.jsonl', hostileResults.map(resultLine));
  return files;
}

function requestLine({ name, code, patch, body, contentType, contentEncoding }: HostileRequest): object {
  const { status, body: error } = processorRefusal(code);
  const headers = {
    'content-type': contentType,
    ...(contentEncoding !== undefined && { 'content-encoding': contentEncoding }),
  };
  return {
    name,
    ...(patch === undefined ? { headers, body } : { patch }),
    expected: { status, category: error.category, code },
  };
}

function resultLine({ name, patch, expected }: HostileResult): object {
  const [check = '', path = '', rule] = expected.split(' ');
  return { name, patch, expected: { check, path, ...(rule !== undefined && { rule }) } };
}
