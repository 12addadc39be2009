/**
 * The API description [platform §2.5]: OpenAPI 3.1, generated from the descriptors and schemas that validate
 * requests, so that it always matches the service.
 */
import type { TSchema } from 'typebox';
import type { Capability } from '../api/capability.ts';
import { asInteger } from '../api/decimal.ts';
import { type Example, examples } from '../api/examples.ts';
import { membersOf, plainSchema } from '../api/plain-schema.ts';
import { type FaultCode, faultKinds } from '../base/fault.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ApiDescription extends Json {
  readonly openapi: '3.1.0';
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

export function describeApi(capabilities: readonly Capability[], version: string): ApiDescription {
  const paths: Record<string, Record<string, Json>> = {};
  for (const capability of capabilities) {
    const path = capability.path.replaceAll(/:(\w+)/g, '{$1}');
    const operations = paths[path] ?? {};
    operations[capability.method.toLowerCase()] = operationOf(capability);
    paths[path] = operations;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Setpoint',
      version,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    externalDocs: { description: 'The contract: behaviour sentence by sentence', url: `${contractPath}/README.md` },
    servers: [{ url: '/' }],
    tags: tagsOf(capabilities),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token. Never in a URL.',
        },
      },
      schemas: { ErrorEnvelope: errorEnvelope },
      headers: {
        'x-correlation-id': {
          description: 'The one id that the answer, the audit events and the log lines of this call share.',
          schema: { type: 'string', minLength: 8, maxLength: 128 },
        },
        'x-svc-audit': {
          description: 'Whether the audit record of how the call ended was written.',
          schema: { enum: ['recorded', 'incomplete'] },
        },
        'x-svc-audit-sequence': {
          description: 'Sequence of the accepted audit record of this call.',
          schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
        },
        'x-svc-audit-hash': {
          description: 'Hash of that record: with the sequence, a receipt whose proof can be asked for.',
          schema: { type: 'string', pattern: '^[0-9a-f]{64}$' },
        },
        etag: { description: 'The revision, in quotes.', schema: { type: 'string' } },
        'retry-after': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
      },
    },
  };
}

/** Path of the contract in the service. */
export const contractPath = '/docs/contract';

const introduction = `Rule automation, audit and forecasts for one energy or IoT site.

Every call needs \`Authorization: Bearer …\` unless it says otherwise. A call that changes something is confirmed twice, by the
header \`x-svc-confirmed: true\` and by \`"confirmed": true\` in the body, and is recorded in the audit trail before anything
is done. Every failure has one envelope; its \`correlationId\` leads to the audit events and the log. Unknown fields and
parameters are refused. The [contract](${contractPath}/README.md) states the behaviour sentence by sentence.`;

const errorEnvelope: Json = {
  type: 'object',
  required: ['error'],
  additionalProperties: false,
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'correlationId'],
      additionalProperties: false,
      properties: {
        code: { enum: Object.keys(faultKinds) },
        message: { type: 'string' },
        correlationId: { type: 'string' },
        retryable: { type: 'boolean', description: 'Present and true when the same call may succeed later.' },
        retryAfterMs: { type: 'number' },
        details: { type: 'object', description: 'Particulars, such as `issues[]` of a flow that was refused.' },
      },
    },
  },
};

/** The areas, by prefix of their operation names; the first match counts. */
const areas = [
  ['automation.rule.', 'Rules', 'Authoring, enabling, executing and watching rules'],
  ['automation.scheduler.', 'Scheduler', 'What decides when a rule runs'],
  ['automation.point', 'Points', 'Live values, trends, overrides and limits, and who holds an actuator'],
  ['automation.', 'Site', 'Instances, points and parameters'],
  ['audit.', 'Audit', 'Who did what, when, and how it ended'],
  ['data_processing.', 'Data processing', 'Forecasts and other derived data'],
  ['identity.', 'Sign-in', 'From a one-time code to an access token'],
  ['platform.', 'Platform', 'Whether the service lives, and what it is'],
] as const;

function areaOf(capability: Capability): readonly [string, string, string] {
  return areas.find(([prefix]) => capability.name.startsWith(prefix)) ?? ['', 'Other', 'Other operations'];
}

function tagsOf(capabilities: readonly Capability[]): Json[] {
  const used = new Set(capabilities.map((capability) => areaOf(capability)[1]));
  return areas.filter(([, name]) => used.has(name)).map(([, name, description]) => ({ name, description }));
}

function operationOf(capability: Capability): Json {
  const body = bodyOf(capability);
  return {
    operationId: capability.name.replaceAll('.', '_'),
    summary: capability.summary,
    description: describe(capability),
    tags: [areaOf(capability)[1]],
    security: capability.permission === null ? [] : [{ bearer: [] }],
    'x-svc-capability': capability.name,
    'x-svc-risk': capability.risk,
    ...(capability.permission === null ? {} : { 'x-svc-permission': capability.permission }),
    parameters: [
      ...parametersOf(capability, capability.params, 'path'),
      ...parametersOf(capability, capability.query, 'query'),
      ...headersOf(capability),
    ],
    ...(body === null ? {} : { requestBody: body }),
    responses: responsesOf(capability),
  };
}

function describe(capability: Capability): string {
  const sentences = [
    capability.permission === null ? 'Needs no token.' : `Needs the permission \`${capability.permission}\`.`,
    ...(capability.openTo === 'loopback' ? ['From the machine itself it needs no token.'] : []),
    ...(capability.confirmation === 'always' ? [confirmations[capability.confirmedIn]] : []),
    ...(capability.confirmation === 'policy' ? ['Whether it must be confirmed is for the route to say.'] : []),
    ...(capability.audit === 'required' ? ['It is recorded in the audit trail before anything is done.'] : []),
    ...(capability.idempotent ? [] : ['Sent twice, it is done twice.']),
  ];
  return sentences.join(' ');
}

const confirmations: Readonly<Record<Capability['confirmedIn'], string>> = {
  body: 'It is confirmed by the header and in the body.',
  'body-or-query': 'It is confirmed by the header and, in the body or in the query, a second time.',
  header: 'It is confirmed by the header.',
};

function parametersOf(capability: Capability, schema: TSchema, place: 'path' | 'query'): Json[] {
  const { properties, required } = membersOf(schema);
  const [example] = examplesOf(capability);
  const given: Json = (place === 'path' ? example?.params : example?.query) ?? {};
  return Object.entries(properties).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(typeof description === 'string' ? { description } : {}),
    schema: asInteger(rest) ?? rest,
    ...(Object.hasOwn(given, name) ? { example: asInteger(rest) === null ? given[name] : Number(given[name]) } : {}),
  }));
}

function headersOf(capability: Capability): Json[] {
  const header = (name: string, description: string, schema: Json, required = false): Json => ({
    name,
    in: 'header',
    required,
    description,
    schema,
  });
  const correlation = header('x-correlation-id', 'Echoed when it is valid; else one is made.', {
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{7,127}$',
  });
  const confirmed = (required: boolean): Json =>
    header('x-svc-confirmed', 'The caller means it.', { enum: ['true', 'false'] }, required);
  return [
    ...(capability.confirmation === 'always' ? [confirmed(true)] : []),
    ...(capability.confirmation === 'policy' ? [confirmed(false)] : []),
    ...(takesRevision(capability)
      ? [header('if-match', 'Refuse when the rule has another revision by now.', { type: 'string' })]
      : []),
    ...(capability.answerType === 'text/event-stream'
      ? [header('last-event-id', 'Resume after this sequence.', { type: 'string', pattern: '^(0|[1-9][0-9]{0,19})$' })]
      : []),
    ...(capability.name === 'data_processing.process'
      ? [header('x-request-id', "The caller's own id.", { type: 'string', pattern: '^[A-Za-z0-9._:-]{1,128}$' })]
      : []),
    correlation,
  ];
}

function takesRevision(capability: Capability): boolean {
  return capability.body !== null && Object.hasOwn(membersOf(capability.body).properties, 'expected_revision');
}

function bodyOf(capability: Capability): Json | null {
  if (capability.body === null) return null;
  const schema = plainSchema(capability.body);
  // The validator's form of "no body": `required: false` here.
  const members: readonly Json[] = Array.isArray(schema['anyOf']) ? schema['anyOf'] : [schema];
  const real = members.filter((member) => member['type'] !== 'undefined');
  const shown = examplesOf(capability).filter((example) => example.body !== undefined);
  return {
    required: real.length === members.length,
    content: {
      'application/json': {
        schema: real.length === 1 ? real[0] : { ...schema, anyOf: real },
        ...(shown.length === 0
          ? {}
          : { examples: Object.fromEntries(shown.map(({ name, body }) => [name, { value: body }])) }),
      },
    },
  };
}

function responsesOf(capability: Capability): Json {
  const failure = (description: string, headers: readonly string[] = []): Json => ({
    description,
    headers: headersNamed(['x-correlation-id', ...headers]),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorEnvelope' } } },
  });
  const codes = failuresOf(capability);
  const byStatus = Map.groupBy(codes, (code) => faultKinds[code].status);
  const responses: Record<string, Json> = { 200: success(capability) };
  for (const [status, list] of byStatus) {
    const waits = status === 429 || status === 503;
    responses[status] = failure(list.map((code) => `\`${code}\``).join(', '), waits ? ['retry-after'] : []);
  }
  return { ...responses, default: failure('Any other failure') };
}

function headersNamed(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const progressLines: Json = {
  type: 'string',
  description:
    'Lines `{"progress": share}`, with a share from 0 to 1; the last line is the answer, or the error envelope',
};

function success(capability: Capability): Json {
  const headers = [
    'x-correlation-id',
    ...(capability.audit === 'required' ? ['x-svc-audit', 'x-svc-audit-sequence', 'x-svc-audit-hash'] : []),
    ...(capability.name.startsWith('automation.rule.') && capability.path.includes(':id') ? ['etag'] : []),
  ];
  const shown = examplesOf(capability).filter((example) => example.answer !== undefined);
  return {
    description: 'Done',
    headers: headersNamed(headers),
    content: {
      [capability.answerType ?? 'application/json']: {
        schema: plainSchema(capability.answer),
        ...(shown.length === 0
          ? {}
          : { examples: Object.fromEntries(shown.map(({ name, answer }) => [name, { value: answer }])) }),
      },
      ...(capability.reportsProgress === true ? { 'application/x-ndjson': { schema: progressLines } } : {}),
    },
  };
}

/** The failures of a call, in addition to the common ones. */
function failuresOf(capability: Capability): FaultCode[] {
  const takesToken = capability.permission !== null || capability.secretBody === true;
  return [
    'invalid-input',
    ...(takesToken ? (['unauthenticated'] as const) : []),
    ...(capability.permission === null ? [] : (['permission-denied'] as const)),
    ...(capability.path.includes(':') ? (['not-found'] as const) : []),
    ...(takesRevision(capability) ? (['revision-conflict', 'invalid-flow', 'invalid-trigger'] as const) : []),
    ...(capability.name === 'automation.rule.execute' ? (['no-runnable-flow'] as const) : []),
    ...(/^automation[.](scheduler[.]reload|site[.](reload|preview-points|add-points))$/.test(capability.name)
      ? (['invalid-site'] as const)
      : []),
    ...(capability.name === 'automation.site.add-points'
      ? (['revision-conflict', 'storage-unavailable'] as const)
      : []),
    ...(/^automation[.](point[.](override|limit)|parameter[.]update)$/.test(capability.name)
      ? (['invalid-value', 'engine-unavailable'] as const)
      : []),
    ...(capability.body === null ? [] : (['payload-too-large', 'unsupported-media-type'] as const)),
    ...(capability.confirmation === 'never' ? [] : (['confirmation-required'] as const)),
    ...(takesToken ? (['rate-limited', 'provider-unavailable'] as const) : []),
    ...(capability.audit === 'required' ? (['audit-unavailable'] as const) : []),
    ...(capability.name === 'platform.ready' ? (['not-ready'] as const) : []),
  ];
}

function examplesOf(capability: Capability): readonly Example[] {
  return examples[capability.name] ?? [];
}
