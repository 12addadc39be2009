/**
 * Calls by the service itself, such as a scheduled forecast: the pipeline of every other call after authentication, with
 * the same checks and the same records, under a subject of kind `system`.
 */
import type { BoundCapability, Subject } from '../api/capability.ts';
import { newId } from '../base/id.ts';
import { createPipeline, type PipelineParts } from './invoke.ts';

/** Throws the Fault that a caller would see. */
export type OwnCall = (body: unknown) => Promise<void>;

/** `name` is the subject's id in the audit. Its only permission is that of the descriptor. */
export function ownCall(bound: BoundCapability, name: string, parts: PipelineParts): OwnCall {
  const pipeline = createPipeline(bound, parts);
  const { permission } = bound.descriptor;
  const subject: Subject = {
    kind: 'system',
    subjectId: name,
    tenantId: parts.site.tenantId,
    projectId: parts.site.projectId,
    roles: [],
    permissions: new Set(permission === null ? [] : [permission]),
  };
  return async (body) => {
    const call = {
      correlationId: newId(),
      address: '127.0.0.1',
      local: true,
      traceId: undefined,
      header: (header: string) => (header === 'content-type' ? 'application/json' : undefined),
      params: {},
      query: new URLSearchParams(),
      onAudit: () => undefined,
      onAccepted: () => undefined,
    };
    await pipeline.perform(call, subject, Buffer.from(JSON.stringify(body)));
  };
}
