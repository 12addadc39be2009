/**
 * Requests that a processor must refuse, each derived from a valid one, with the answer that [processor §4]
 * ("Processor-facing errors") requires. The list is data for any task: paths name what the task's own frame holds.
 */
import { processorMediaType } from '../../api/processing.ts';
import { type PatchOperation, patched } from '../../base/json-patch.ts';
import type { TaskDeclaration } from '../../contract/task/declaration.ts';
import { digestOf } from '../../contract/wire/digest.ts';
import type { ProcessorErrorCode } from '../../contract/wire/error-envelope.ts';
import { step } from '../../contract/wire/issue.ts';
import type { NormalisedRequest } from '../../contract/wire/request-decode.ts';

export interface HostileRequest {
  readonly name: string;
  readonly code: ProcessorErrorCode;
  readonly contentType: string;
  readonly contentEncoding?: string;
  readonly body: string;
  /** The change as patch operations, where it can be one; the digest is then recomputed unless it is among them. */
  readonly patch?: readonly PatchOperation[];
}

const replace = (path: string, value: unknown): PatchOperation => ({ op: 'replace', path, value });
const add = (path: string, value: unknown): PatchOperation => ({ op: 'add', path, value });
const remove = (path: string): PatchOperation => ({ op: 'remove', path });

type Row = readonly [name: string, code: ProcessorErrorCode, ...operations: PatchOperation[]];

export function hostileRequests(request: NormalisedRequest, task: TaskDeclaration): HostileRequest[] {
  const rows: Row[] = [
    ...envelopeRows(request),
    ...optionRows(task),
    ...frameRows(request, task),
    ...qualityRows(request, task),
  ];
  return [
    ...rows.map(([name, code, ...operations]) => {
      const changed = patched(request, operations);
      // Each is refused for its own fault, not because the digest no longer matches.
      const stale = operations.some((operation) => operation.path === '/input_digest');
      const body = JSON.stringify(stale ? changed : { ...changed, input_digest: digestOf(changed) });
      return { name, code, contentType: processorMediaType, body, patch: operations };
    }),
    ...textRequests(JSON.stringify(request)),
  ];
}

/** Identity, versions, times, digest ([processor §4] steps 1 to 3). */
function envelopeRows({ task, submitted_at, frame }: NormalisedRequest): Row[] {
  return [
    ['another request schema', 'SCHEMA_UNSUPPORTED', replace('/schema', 'svc.data-processing.request.v2')],
    ['another frame schema', 'SCHEMA_UNSUPPORTED', replace('/frame/schema', 'svc.processing-frame.v2')],
    ['another contract', 'SCHEMA_UNSUPPORTED', replace('/processor_contract', 'svc.data-processing.forecast.v2')],
    ['an unknown member', 'REQUEST_INVALID', add('/vendor', 1)],
    ['an unknown member in the frame', 'REQUEST_INVALID', add('/frame/history/vendor', 1)],
    ['an unknown member in the task', 'REQUEST_INVALID', add('/task/path', '/x')],
    ['a null that is not allowed', 'REQUEST_INVALID', add('/artifact', null)],
    ['a request id that is no UUID', 'REQUEST_INVALID', replace('/request_id', 'not-a-uuid')],
    ['no request id', 'REQUEST_INVALID', remove('/request_id')],
    ['no binding', 'REQUEST_INVALID', remove('/binding')],
    ['revision 0', 'REQUEST_INVALID', replace('/task/revision', 0)],
    ['a revision as text', 'REQUEST_INVALID', replace('/binding/revision', '1')],
    ['a revision beyond 32 bits', 'REQUEST_INVALID', replace('/task/revision', 4_294_967_296)],
    ['a digest of another form', 'REQUEST_INVALID', replace('/input_digest', 'b3b5c380')],
    ['times with a blank', 'REQUEST_INVALID', replace('/submitted_at', submitted_at.replace('T', ' '))],
    ['local time', 'REQUEST_INVALID', replace('/submitted_at', submitted_at.replace('Z', '+00:00'))],
    ['a day that does not exist', 'REQUEST_INVALID', replace('/deadline', '2099-02-30T00:00:00Z')],
    ['microseconds', 'REQUEST_INVALID', replace('/deadline', '2099-01-01T00:00:00.123456Z')],
    ['a deadline at submission', 'REQUEST_INVALID', replace('/deadline', submitted_at)],
    [
      'a deadline at as_of',
      'REQUEST_INVALID',
      replace('/submitted_at', '1970-01-01T00:00:00Z'),
      replace('/deadline', frame.as_of),
    ],
    [
      'a deadline that has passed',
      'DEADLINE_EXCEEDED',
      replace('/frame/as_of', '2001-01-01T00:00:00Z'),
      replace('/submitted_at', '2001-01-01T00:00:00Z'),
      replace('/deadline', '2001-01-01T00:00:01Z'),
    ],
    ['a digest of other content', 'DIGEST_MISMATCH', replace('/input_digest', `sha256:${'0'.repeat(64)}`)],
    ['an unknown task', 'TASK_NOT_SUPPORTED', replace('/task/id', 'no.such-task')],
    ['a revision that is not served', 'TASK_NOT_SUPPORTED', replace('/task/revision', task.revision + 1000)],
    ['an unknown kind', 'TASK_NOT_SUPPORTED', replace('/task/kind', 'detection')],
  ];
}

function optionRows(task: TaskDeclaration): Row[] {
  const { max_quantiles: most } = task.output;
  return [
    ['options of another kind', 'OPTION_UNKNOWN', replace('/options/kind', 'detection')],
    ['an unknown option', 'OPTION_UNKNOWN', add('/options/seed', 1)],
    ['no horizon', 'OPTION_UNKNOWN', remove('/options/horizon_steps')],
    ['horizon 0', 'OPTION_UNKNOWN', replace('/options/horizon_steps', 0)],
    ['half a step', 'OPTION_UNKNOWN', replace('/options/horizon_steps', 1.5)],
    ['a horizon beyond the contract', 'OPTION_UNKNOWN', replace('/options/horizon_steps', 4097)],
    ...(task.frame.horizon_steps < 4096
      ? [
          [
            'a horizon beyond the task',
            'OPTION_UNKNOWN',
            replace('/options/horizon_steps', task.frame.horizon_steps + 1),
          ] as const,
        ]
      : []),
    ['quantiles null', 'OPTION_UNKNOWN', add('/options/quantiles', null)],
    ['no quantiles in a list', 'OPTION_UNKNOWN', add('/options/quantiles', [])],
    ['a probability twice', 'OPTION_UNKNOWN', add('/options/quantiles', [0.5, 0.5])],
    ['probabilities falling', 'OPTION_UNKNOWN', add('/options/quantiles', [0.9, 0.1])],
    ['probability 1', 'OPTION_UNKNOWN', add('/options/quantiles', [1])],
    ['probability 0', 'OPTION_UNKNOWN', add('/options/quantiles', [0])],
    [
      'more quantiles than the task allows',
      'OPTION_UNKNOWN',
      add(
        '/options/quantiles',
        Array.from({ length: most + 1 }, (_, index) => (index + 1) / (most + 2)),
      ),
    ],
  ];
}

/** Features, grids, samples, aggregates, provenance ([processor §4] steps 4 to 6). */
function frameRows({ frame }: NormalisedRequest, task: TaskDeclaration): Row[] {
  const name =
    task.inputs.history.find((input) => input.value_type === 'number' && input.source.kind !== 'calendar')?.name ?? '';
  const place = `/frame/history/features${step(name)}`;
  const series = frame.history.features[name];
  const late = frame.as_of.replace(/(\.\d+)?Z$/, '.001Z');
  const extra = (values: readonly number[]): object => ({
    value_type: 'number',
    unit: '1',
    values,
    quality: values.map(() => 'good'),
  });
  const steps = frame.history.timestamps.length;
  return [
    ['a frame that is a list', 'FRAME_INVALID', replace('/frame', [])],
    ['another cadence', 'FRAME_INVALID', replace('/frame/cadence_seconds', task.frame.cadence_seconds + 1)],
    ['a label off the grid', 'FRAME_INVALID', replace('/frame/history/timestamps/0', '2001-01-01T00:00:01Z')],
    [
      'the last label a millisecond after as_of',
      'FRAME_INVALID',
      replace(`/frame/history/timestamps/${steps - 1}`, late),
    ],
    ['a label less', 'FRAME_INVALID', remove('/frame/history/timestamps/0')],
    ['a value less', 'FRAME_INVALID', remove(`${place}/values/0`)],
    ['a quality less', 'FRAME_INVALID', remove(`${place}/quality/0`)],
    ['an unknown quality', 'FRAME_INVALID', replace(`${place}/quality/0`, 'fine')],
    ['missing that is not null', 'FRAME_INVALID', replace(`${place}/quality/0`, 'missing')],
    ['null that is not missing', 'FRAME_INVALID', replace(`${place}/values/0`, null)],
    ['a value as text', 'FRAME_INVALID', replace(`${place}/values/0`, '1')],
    ['no unit', 'FRAME_INVALID', remove(`${place}/unit`)],
    ['another unit', 'UNIT_UNSUPPORTED', replace(`${place}/unit`, 'furlong')],
    [
      'another value type',
      'FRAME_INVALID',
      replace(place, {
        value_type: 'boolean',
        values: (series?.values ?? []).map(() => true),
        quality: series?.quality,
      }),
    ],
    ['a feature less', 'FRAME_INVALID', remove(place)],
    [
      'an undeclared feature',
      'FRAME_INVALID',
      add('/frame/history/features/undeclared', extra(frame.history.timestamps.map(() => 1))),
    ],
    [
      'a feature with a control character',
      'FRAME_INVALID',
      add('/frame/history/features/bad\u0007name', extra(frame.history.timestamps.map(() => 1))),
    ],
    [
      'an undeclared static feature',
      'FRAME_INVALID',
      add('/frame/static_features/rated', { value_type: 'number', unit: '1', value: 1, quality: 'good' }),
    ],
    ...futureRows(frame, extra),
    ...provenanceRows(frame, late),
  ];
}

function provenanceRows({ provenance, as_of }: NormalisedRequest['frame'], late: string): Row[] {
  return [
    ['a provenance entry less', 'FRAME_INVALID', remove('/frame/provenance/0')],
    ['a provenance entry twice', 'FRAME_INVALID', add('/frame/provenance/-', provenance[0])],
    [
      'provenance of nothing',
      'FRAME_INVALID',
      add('/frame/provenance/-', {
        segment: 'history',
        feature: 'undeclared',
        source_kind: 'history',
        watermark: as_of,
      }),
    ],
    ['a source_ref that is a path', 'FRAME_INVALID', add('/frame/provenance/0/source_ref', '/var/lib/x')],
    ['a watermark after as_of', 'FRAME_INVALID', replace('/frame/provenance/0/watermark', late)],
    ['history from a constant', 'FRAME_INVALID', replace('/frame/provenance/0/source_kind', 'constant')],
    ['an issue time of history', 'FRAME_INVALID', add('/frame/provenance/0/issued_at', '2001-01-01T00:00:00Z')],
  ];
}

function futureRows(frame: NormalisedRequest['frame'], extra: (values: readonly number[]) => object): Row[] {
  const { future_covariates: future } = frame;
  if (future === undefined)
    return [
      [
        'undeclared future covariates',
        'FRAME_INVALID',
        add('/frame/future_covariates', { timestamps: ['2099-01-01T00:00:00Z'], features: { x: extra([1]) } }),
      ],
    ];
  const covariate = frame.provenance.findIndex((entry) => entry.source_kind === 'covariate');
  return [
    ['no future covariates', 'FRAME_INVALID', remove('/frame/future_covariates')],
    [
      'the future grid starting at as_of',
      'FRAME_INVALID',
      replace('/frame/future_covariates/timestamps/0', frame.as_of),
    ],
    ...(covariate < 0
      ? []
      : [
          [
            'a covariate without its issue time',
            'FRAME_INVALID',
            remove(`/frame/provenance/${covariate}/issued_at`),
          ] as const,
        ]),
  ];
}

/** Aggregates that do not match the cells, and data that violates the task's policy. */
function qualityRows({ frame }: NormalisedRequest, task: TaskDeclaration): Row[] {
  const { cadence_seconds: cadenceSeconds } = task.frame;
  const rows: Row[] = [
    ['a missing ratio that is not so', 'FRAME_INVALID', replace('/frame/quality/missing_ratio', 0.5)],
    ['a missing ratio above 1', 'FRAME_INVALID', replace('/frame/quality/missing_ratio', 1.5)],
    ['substitutions that are not there', 'FRAME_INVALID', replace('/frame/quality/substituted_samples', 1)],
    ['a gap that is not so', 'FRAME_INVALID', replace('/frame/quality/max_gap_seconds', cadenceSeconds * 2)],
    ['a live tail that is not so', 'FRAME_INVALID', replace('/frame/quality/live_tail_included', true)],
    [
      'a watermark that is not the newest',
      'FRAME_INVALID',
      replace('/frame/quality/input_watermark', '2001-01-01T00:00:00Z'),
    ],
  ];
  const bounded = task.inputs.history.find(({ range }) => range.maximum !== undefined);
  if (bounded?.range.maximum !== undefined)
    rows.push([
      'a value out of range',
      'QUALITY_REJECTED',
      replace(`/frame/history/features${step(bounded.name)}/values/0`, bounded.range.maximum + 1),
    ]);
  const old = frame.provenance.findIndex((entry) => entry.source_kind === 'history');
  const fresh = frame.provenance.some((entry, index) => index !== old && entry.source_kind !== 'calendar');
  if (old >= 0 && fresh)
    rows.push([
      'a feature whose data are too old',
      'QUALITY_REJECTED',
      replace(`/frame/provenance/${old}/watermark`, '2001-01-01T00:00:00Z'),
    ]);
  return rows;
}

/** Bodies that are not unambiguous JSON, and headers that do not describe the body ([processor §4] step 1). */
function textRequests(json: string): HostileRequest[] {
  const text = (name: string, code: ProcessorErrorCode, body: string): HostileRequest => ({
    name,
    code,
    contentType: processorMediaType,
    body,
  });
  const typed = (name: string, contentType: string): HostileRequest => ({
    name,
    code: 'MEDIA_TYPE_UNSUPPORTED',
    contentType,
    body: json,
  });
  return [
    text('an empty body', 'JSON_INVALID', ''),
    text('half a body', 'JSON_INVALID', json.slice(0, json.length / 2)),
    text('NaN', 'JSON_INVALID', json.replace('"revision":', '"revision":NaN,"x":')),
    text(
      'a duplicate member',
      'JSON_INVALID',
      json.replace('"deadline":', '"deadline":"2001-01-01T00:00:00Z","deadline":'),
    ),
    text(
      'a duplicate member behind an escape',
      'JSON_INVALID',
      json.replace('"deadline":', '"d\\u0065adline":"2001-01-01T00:00:00Z","deadline":'),
    ),
    text('a list', 'REQUEST_INVALID', `[${json}]`),
    text('a number that overflows', 'FRAME_INVALID', json.replace(/"values":\[-?[0-9.e+-]+/, '"values":[1e999')),
    typed('plain JSON as media type', 'application/json'),
    typed('another version of the media type', processorMediaType.replace('version=1', 'version=2')),
    typed('a media type without a version', processorMediaType.replace(';version=1', '')),
    { ...typed('a compressed body', processorMediaType), contentEncoding: 'gzip' },
  ];
}
