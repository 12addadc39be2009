/** The contract's cases: R against the validation of requests, F against that of results, and the known digests. */
import { describe, expect, test } from 'vitest';
import type { DataProcessingRequest } from '../../api/processing.ts';
import { type PatchOperation, patched } from '../../base/json-patch.ts';
import { checkRequest } from '../../processor-kit/check-request.ts';
import {
  bytesOf,
  fixtureText,
  loadQuestion,
  loadReceiver,
  loadRequest,
  loadResult,
  processorHeaders,
  redigested,
} from '../../testing/load-fixture.ts';
import { digestOf, digestText } from '../wire/digest.ts';
import { decodeFrame } from '../wire/frame-decode.ts';
import { validateResult } from './result.ts';

interface Case {
  readonly id: string;
  readonly base?: 'R' | 'F';
  readonly patch?: readonly PatchOperation[];
  readonly note?: string;
  readonly expect: {
    readonly ok?: boolean;
    readonly http?: number;
    readonly category?: string;
    readonly code?: string;
    readonly outcome?: string;
  };
}

const cases = fixtureText('cases.jsonl')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case);
const ofBase = (base: 'R' | 'F') => cases.filter((each) => each.base === base).map((each) => [each.id, each] as const);

function answer(body: Uint8Array) {
  const checked = checkRequest({ headers: processorHeaders, body }, loadReceiver);
  if (checked.ok) return { ok: true };
  const { status, body: error } = checked.refusal;
  return { http: status, category: error.category, code: error.code };
}

describe('[processor §4] validation order: requests', () => {
  test('the cases were read', () => {
    expect(ofBase('R').length).toBeGreaterThan(40);
    expect(ofBase('F').length).toBeGreaterThan(20);
  });

  test.each(ofBase('R'))('%s', (_, each) => {
    const request = patched<DataProcessingRequest>(loadRequest, each.patch ?? []);
    const digested = each.note?.startsWith('do NOT re-digest') === true || each.patch?.some(isDigest) === true;
    expect(answer(bytesOf(digested ? request : redigested(request)))).toEqual(each.expect);
  });

  test('R093: a number that overflows to infinity', () => {
    const text = JSON.stringify(loadRequest).replace('818', '1e999');
    expect(answer(new TextEncoder().encode(text))).toEqual({
      http: 422,
      category: 'invalid_data',
      code: 'FRAME_INVALID',
    });
  });
});

function isDigest(operation: PatchOperation): boolean {
  return operation.path === '/input_digest';
}

describe('[data-processing §6] forecast output, fallback rules, correlation: results', () => {
  test.each(ofBase('F'))('%s', (_, each) => {
    const verdict = validateResult(patched<unknown>(loadResult, each.patch ?? []), loadQuestion());
    expect(verdict).toMatchObject(each.expect);
  });
});

describe('[data-processing §3.6] digest: known answers', () => {
  interface Vector {
    readonly id: string;
    readonly patch: readonly PatchOperation[];
    readonly canonical_bytes: number;
    readonly input_digest: string;
  }
  const { vectors } = JSON.parse(fixtureText('digests.json')) as { readonly vectors: readonly Vector[] };

  test.each(vectors.map((vector) => [vector.id, vector] as const))('%s', (_, vector) => {
    const request = patched<DataProcessingRequest>(loadRequest, vector.patch);
    expect(Buffer.byteLength(digestText(request))).toBe(vector.canonical_bytes);
    expect(digestOf(request)).toBe(vector.input_digest);
  });

  test('K9: static features absent, the normal form has digest K1', () => {
    const request = patched<DataProcessingRequest>(loadRequest, [{ op: 'remove', path: '/frame/static_features' }]);
    const frame = decodeFrame(request.frame);
    expect(frame.ok && digestOf({ ...request, frame: frame.value })).toBe(vectors[0]?.input_digest);
  });
});
