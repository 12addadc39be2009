/** The load forecast of the contract's fixtures: request, result, declaration and route, for tests of the wire. */
import { readFileSync } from 'node:fs';
import type { DataProcessingRequest, DerivedData, ProducedResult } from '../api/processing.ts';
import type { TaskDeclaration } from '../contract/task/declaration.ts';
import { readTask } from '../contract/task/read.ts';
import type { ResultQuestion, ResultRoute } from '../contract/validate/result.ts';
import { digestOf } from '../contract/wire/digest.ts';
import { decodeFrame } from '../contract/wire/frame-decode.ts';
import type { NormalisedRequest } from '../contract/wire/request-decode.ts';
import type { Receiver } from '../processor-kit/check-request.ts';

const folder = new URL('../contract/validate/fixture/', import.meta.url);

export function fixtureText(name: string): string {
  return readFileSync(new URL(name, folder), 'utf8');
}

const parsed = (name: string): unknown => JSON.parse(fixtureText(name));

export const loadRequest = parsed('load-processing-request.json') as DataProcessingRequest;
export const loadResult = parsed('load-processing-result.json') as ProducedResult;
export const loadDerivedData = parsed('load-derived-data.json') as DerivedData;
export const loadTask: TaskDeclaration = readTask(
  fixtureText('site-load-forecast.yaml'),
  'site-load-forecast.yaml',
).value;

/** The clock of the cases. */
export const caseNowMs = Date.parse('2026-07-11T12:00:03Z');

export const loadFixtureRoute: ResultRoute = {
  processor: { id: 'load-forecasting-edge', version: '0.1.0', contract: 'svc.data-processing.forecast.v1' },
  requires_artifact: true,
  max_clock_skew_ms: 500,
};

export const loadReceiver: Receiver = {
  declarations: [loadTask],
  limits: { max_request_bytes: 4_194_304, max_frame_cells: 5000 },
  nowMs: caseNowMs,
  bearerToken: null,
  knowsArtifact: () => true,
};

export function redigested<T extends DataProcessingRequest>(request: T): T {
  return { ...request, input_digest: digestOf(request) };
}

function normalRequest(request: DataProcessingRequest): NormalisedRequest {
  const frame = decodeFrame(request.frame);
  if (!frame.ok) throw new Error(`the fixture's frame: ${frame.issue.path} ${frame.issue.rule}`);
  return { ...request, frame: frame.value };
}

export function loadQuestion(changes: Partial<ResultQuestion> = {}): ResultQuestion {
  return {
    request: normalRequest(loadRequest),
    declaration: loadTask,
    route: loadFixtureRoute,
    nowMs: caseNowMs,
    ...changes,
  };
}

export const processorHeaders = { 'content-type': 'application/vnd.svc.data-processing+json;version=1' };

export function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
