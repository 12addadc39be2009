/** Commissioning fails closed [data-processing §2.3]: every fault with file and line. */
import { describe, expect, test } from 'vitest';
import { taskDiscoveryEntrySchema } from '../../api/processing-discovery.ts';
import { decoder } from '../../base/decode.ts';
import {
  commissionFaults,
  commissionLoad,
  type Edit,
  fixtureFile,
  type LoadEdits,
  loadRoute,
} from '../../testing/load-site.ts';
import { readBinding } from './binding.ts';
import { discoveryEntry } from './discovery.ts';

/** `file:line` of a text in a fixture, after the edits. */
function placeOf(file: string, text: string): string {
  const names: Record<string, string> = {
    'tasks/site-load-forecast.yaml': 'load/tasks/site-load-forecast.yaml',
    'bindings/example-site.yaml': 'load/bindings/example-site.yaml',
    'routes.yaml': 'load/routes.yaml',
  };
  const lines = fixtureFile(names[file] ?? '').split('\n');
  return `${file}:${lines.findIndex((line) => line.includes(text)) + 1}`;
}

const bindingFile = 'bindings/example-site.yaml';
const taskFile = 'tasks/site-load-forecast.yaml';
const remote: readonly Edit[] = [
  ['endpoint: http://127.0.0.1:8989/', 'endpoint: https://forecast.example.com/'],
  ['boundary: local', 'boundary: remote'],
];
const approvedTask: readonly Edit[] = [['output: {', 'egress: { remote_allowed: true }\noutput: {']];
const approvedBinding: readonly Edit[] = [['remote_egress_allowed: false', 'remote_egress_allowed: true']];
const approvedRoute: readonly Edit[] = [['max_concurrency: 1', 'max_concurrency: 1\n    remote_preapproved: true']];

describe('[data-processing §2.3] a reference that cannot be resolved, or does not match exactly, stops the start', () => {
  test('the fixture itself commissions', () => expect(loadRoute().history.length).toBe(5));

  test.each<[string, LoadEdits, string, string]>([
    [
      'unit',
      { site: [['unit: kW', 'unit: W']] },
      placeOf(bindingFile, 'active_power'),
      'unit: is kW here and W in site.yaml',
    ],
    [
      'scale',
      { binding: [['scale: 1,', 'scale: 0.001,']] },
      placeOf(bindingFile, 'active_power'),
      'is 0.001 here and 1 in site.yaml',
    ],
    [
      'offset',
      { binding: [['offset: 0,', 'offset: 5,']] },
      placeOf(bindingFile, 'active_power'),
      'is 5 here and 0 in site.yaml',
    ],
    [
      'sign convention',
      { site: [['positive_consumption', 'positive_generation']] },
      placeOf(bindingFile, 'active_power'),
      'is positive_consumption here and positive_generation in site.yaml',
    ],
    [
      'point kind',
      { site: [['kind: measurement, unit: mm', 'kind: action, unit: mm, min: 0, max: 1']] },
      placeOf(bindingFile, 'precipitation'),
      'is an action point',
    ],
    [
      'point',
      { binding: [['instance: 6, point: 3', 'instance: 6, point: 4']] },
      placeOf(bindingFile, 'precipitation'),
      'is not in site.yaml',
    ],
    [
      'instance_ref',
      { task: [['instance_ref: site_load', 'instance_ref: other']] },
      placeOf(taskFile, 'instance_ref'),
      'has no instance other',
    ],
    [
      'point_ref',
      { task: [['point_ref: active_power', 'point_ref: power']] },
      placeOf(taskFile, 'point_ref'),
      'has no point power of site_load',
    ],
    [
      'dataset_ref',
      {
        task: [['dataset_ref: weather.nwp, field: precipitation', 'dataset_ref: weather.other, field: precipitation']],
      },
      placeOf(taskFile, 'weather.nwp, field: precipitation'),
      'has no dataset weather.other',
    ],
    [
      'field',
      { task: [['weather.nwp, field: precipitation', 'weather.nwp, field: snow']] },
      placeOf(taskFile, 'weather.nwp, field: precipitation'),
      'has no field snow',
    ],
    [
      'unit of a field',
      {
        binding: [
          ['precipitation: { unit: mm, source_ref: weather.nwp', 'precipitation: { unit: cm, source_ref: weather.nwp'],
        ],
      },
      placeOf(taskFile, 'weather.nwp, field: precipitation'),
      'unit: is mm here and cm in binding',
    ],
    [
      'unit of a calendar',
      { task: [['quarter_hour, unit: "1"', 'quarter_hour, unit: h']] },
      placeOf(taskFile, 'quarter_hour'),
      'has unit 1',
    ],
    [
      'history from runs',
      { task: [['weather.observed, field: precipitation', 'weather.nwp, field: precipitation']] },
      placeOf(taskFile, 'weather.observed, field: precipitation'),
      'history needs recorded values',
    ],
    [
      'future from records',
      { task: [['weather.nwp, field: precipitation', 'weather.observed, field: precipitation']] },
      placeOf(taskFile, 'weather.nwp, field: precipitation'),
      'runs with an issue time',
    ],
    [
      'sign of the target',
      { task: [['sign_convention: positive_consumption', 'sign_convention: positive_generation']] },
      placeOf(taskFile, 'instance_ref'),
      "the target's sign is positive_generation",
    ],
    [
      'task of a route',
      {
        routes: [
          [
            'task: { id: energy.site-load-forecast, revision: 1 }',
            'task: { id: energy.site-load-forecast, revision: 2 }',
          ],
        ],
      },
      placeOf('routes.yaml', '- task'),
      'unknown task energy.site-load-forecast of revision 2',
    ],
    [
      'binding of a route',
      { routes: [['binding: { id: energy.example-site', 'binding: { id: energy.other']] },
      placeOf('routes.yaml', 'binding:'),
      'unknown binding energy.other',
    ],
    [
      'processor of a route',
      { routes: [['processor: load-forecasting-edge', 'processor: other']] },
      placeOf('routes.yaml', 'processor: load'),
      'unknown processor other',
    ],
  ])('%s', (_name, edits, place, reason) => {
    const lines = commissionFaults(edits);
    const at = (line: string): string => line.slice(0, line.indexOf(': '));
    expect(
      lines.some((line) => at(line) === place && line.includes(reason.split('unit: ').at(-1) ?? reason)),
      lines.join('\n'),
    ).toBe(true);
  });

  test('all faults at once', () => {
    const lines = commissionFaults({
      binding: [
        ['scale: 1,', 'scale: 2,'],
        ['instance: 6, point: 3', 'instance: 6, point: 9'],
      ],
      task: [['weather.nwp, field: precipitation', 'weather.nwp, field: snow']],
    });
    expect(lines.length).toBe(3);
  });
});

describe('[data-processing §4.7] Live tail', () => {
  const allowed: Edit = ['live_tail: forbidden', 'live_tail: allowed'];
  test.each(['mean', 'sum', 'min', 'max'])(
    '[data-processing §4.7]: on %s it is a commissioning error',
    (aggregation) => {
      const task = [allowed, ['  aggregation: mean', `  aggregation: ${aggregation}`]] as const;
      expect(commissionFaults({ task })[0]).toMatch(/live_tail needs aggregation last/);
    },
  );
  test('on last it is allowed', () => {
    const own: Edit = [
      '- { name: rain, agg',
      '- { name: load, aggregation: last, duplicate_policy: latest }\n    - { name: rain, agg',
    ];
    expect(commissionLoad({ task: [allowed, own] }).ok).toBe(true);
  });
});

test('[data-processing §2.3] an unknown word in a binding is refused with the allowed ones, at its line, as the only error', () => {
  const text = fixtureFile('plant/bindings/plant-7.yaml').replace('fallback: previous_run', 'fallback: maybe');
  const line = text.split('\n').findIndex((each) => each.includes('fallback: maybe')) + 1;
  let message = '';
  try {
    readBinding(text, 'plant-7.yaml');
  } catch (error) {
    message = error instanceof Error ? error.message : '';
  }
  expect(message).toBe(
    `plant-7.yaml:${line}: /datasets/weather.nwp/fallback must be one of "none", "previous_run", "persistence_day"`,
  );
});

describe('[processor §6.3] Egress', () => {
  test.each<[string, readonly Edit[], string]>([
    [
      'local to another machine',
      [['http://127.0.0.1:8989/', 'http://192.168.0.7:8989/']],
      'must be a loopback address',
    ],
    ['local by a name', [['http://127.0.0.1:8989/', 'http://forecaster:8989/']], 'must be a loopback address'],
    [
      'remote without https',
      [
        ['http://127.0.0.1:8989/', 'http://forecast.example.com/'],
        ['boundary: local', 'boundary: remote'],
      ],
      'must use https',
    ],
    ['not http', [['http://127.0.0.1:8989/', 'file:///etc/passwd']], 'not an http or https URL'],
    ['credentials', [['http://127.0.0.1:8989/', 'http://user:secret@127.0.0.1:8989/']], 'must not hold credentials'],
    ['a query', [['http://127.0.0.1:8989/', 'http://127.0.0.1:8989/?a=1']], 'no query'],
  ])('an endpoint is refused: %s', (_name, routes, reason) => {
    const lines = commissionFaults({ routes });
    expect(lines[0]).toContain(reason);
    expect(lines.join()).not.toContain('secret');
  });

  test.each(['http://localhost:1/', 'http://[::1]:1/', 'https://127.0.0.1:1/', 'http://127.3.2.1/'])(
    '%s is local',
    (endpoint) => {
      expect(commissionLoad({ routes: [['http://127.0.0.1:8989/', endpoint]] }).ok).toBe(true);
    },
  );

  test('remote needs the approval of task, binding and route; each missing one is named', () => {
    const missing = (edits: LoadEdits): string => commissionFaults(edits).join('\n');
    expect(missing({ routes: remote })).toMatch(/task's egress.*binding's remote.*route's remote_preapproved/);
    expect(missing({ routes: [...remote, ...approvedRoute], binding: approvedBinding })).toMatch(
      /needs the task's egress.remote_allowed$/,
    );
    expect(missing({ routes: [...remote, ...approvedRoute], task: approvedTask })).toMatch(
      /needs the binding's remote_egress_allowed$/,
    );
    expect(missing({ routes: remote, task: approvedTask, binding: approvedBinding })).toMatch(
      /needs the route's remote_preapproved$/,
    );
    const routes = [...remote, ...approvedRoute];
    expect(commissionLoad({ routes, task: approvedTask, binding: approvedBinding }).ok).toBe(true);
  });

  test('confirmation: never for local, required for remote unless set', () => {
    const whole = { task: approvedTask, binding: approvedBinding };
    expect(loadRoute().route.confirmation).toBe('never');
    expect(loadRoute({ ...whole, routes: [...remote, ...approvedRoute] }).route.confirmation).toBe('required');
    const set: Edit = ['remote_preapproved: true', 'remote_preapproved: true\n    confirmation: never'];
    expect(loadRoute({ ...whole, routes: [...remote, ...approvedRoute, set] }).route.confirmation).toBe('never');
  });
});

describe('[data-processing §2.3] disabled parts do not exist, and the start succeeds', () => {
  test.each<[string, LoadEdits]>([
    ['route', { routes: [['enabled: true', 'enabled: false']] }],
    ['binding', { binding: [['\nenabled: true', '\nenabled: false']] }],
    ['binding not commissioned', { binding: [['commissioned: true', 'commissioned: false']] }],
  ])('%s', (_name, edits) => expect(commissionLoad(edits)).toMatchObject({ ok: true, routes: [] }));
});

describe('limits and adapters', () => {
  test('a frame that could never fit max_frame_cells stops the start', () => {
    expect(commissionLoad({ routes: [['max_frame_cells: 5000', 'max_frame_cells: 24']] }).ok).toBe(true);
    expect(commissionFaults({ routes: [['max_frame_cells: 5000', 'max_frame_cells: 23']] })[0]).toContain(
      'at least 24 cells',
    );
  });

  const upstream = (endpoint: string): Edit => [
    'processors:',
    `history: { adapter: upstream-http, endpoint: "${endpoint}", connect_timeout_ms: 100, request_timeout_ms: 100, max_response_bytes: 1000 }\nprocessors:`,
  ];
  const lastReject: readonly Edit[] = [
    ['  aggregation: mean', '  aggregation: last'],
    ['duplicate_policy: latest\n  feature', 'duplicate_policy: reject\n  feature'],
    [
      'name: rain, aggregation: sum, duplicate_policy: latest',
      'name: rain, aggregation: last, duplicate_policy: reject',
    ],
  ];
  test('[data-processing §4.10] the upstream history adapter accepts only last and reject', () => {
    const routes = [upstream('http://127.0.0.1:9/')];
    expect(commissionFaults({ routes }).length).toBe(4);
    expect(commissionLoad({ routes, task: lastReject }).ok).toBe(true);
  });
  test('[data-processing §4.10] it is loopback unless https', () => {
    expect(commissionFaults({ routes: [upstream('http://history.example.com/')], task: lastReject })[0]).toContain(
      'loopback',
    );
    expect(commissionLoad({ routes: [upstream('https://history.example.com/')], task: lastReject }).ok).toBe(true);
  });
  test('solar_elevation needs a place, persistence_day a record', () => {
    const sun: Edit = [
      '{ name: quarter_hour, unit: "1", range: { minimum: 0, maximum: 95, integer: true }, source: { kind: calendar, transform: quarter_hour_of_day_zero_based } }',
      '{ name: quarter_hour, unit: deg, source: { kind: calendar, transform: solar_elevation } }',
    ];
    expect(commissionLoad({ task: [sun] }).ok).toBe(true);
    const faults = commissionFaults({ task: [sun], site: [[', latitude: 31.2, longitude: 121.5', '']] });
    expect(faults[0]).toContain('needs latitude and longitude');
    const day: Edit = ['max_file_bytes: 4194304', 'max_file_bytes: 4194304\n    fallback: persistence_day'];
    expect(commissionLoad({ binding: [day] }).ok).toBe(true);
    const renamed: Edit = [
      '{ name: rain, unit: mm, range: { minimum: 0 }, source: { kind: covariate, dataset_ref: weather.nwp',
      '{ name: snow, unit: mm, range: { minimum: 0 }, source: { kind: covariate, dataset_ref: weather.nwp',
    ];
    expect(commissionFaults({ binding: [day], task: [renamed] })[0]).toContain('recorded history feature called snow');
  });
});

describe('[data-processing §5.2] Task discovery entry', () => {
  const entry = discoveryEntry(loadRoute());
  test('carries every listed member and fits its schema', () => {
    expect(decoder(taskDiscoveryEntrySchema)(entry)).toMatchObject({ ok: true });
    expect(entry).toEqual({
      task: { id: 'energy.site-load-forecast', revision: 1 },
      binding: { id: 'energy.example-site', revision: 1 },
      kind: 'forecast',
      processor_contract: 'svc.data-processing.forecast.v1',
      features: [
        { name: 'load', role: 'history', value_type: 'number', unit: 'kW', integer: false },
        { name: 'temp_avg', role: 'history', value_type: 'number', unit: 'Cel', integer: false },
        { name: 'humidity', role: 'history', value_type: 'number', unit: '%', integer: false },
        { name: 'rain', role: 'history', value_type: 'number', unit: 'mm', integer: false },
        { name: 'quarter_hour', role: 'history', value_type: 'number', unit: '1', integer: true },
        { name: 'temp_avg', role: 'future_covariate', value_type: 'number', unit: 'Cel', integer: false },
        { name: 'humidity', role: 'future_covariate', value_type: 'number', unit: '%', integer: false },
        { name: 'rain', role: 'future_covariate', value_type: 'number', unit: 'mm', integer: false },
        { name: 'quarter_hour', role: 'future_covariate', value_type: 'number', unit: '1', integer: true },
      ],
      forecast: {
        target: { name: 'load', unit: 'kW', sign_convention: 'positive_consumption' },
        cadence_ms: 900_000,
        history_aggregation: 'mean',
        history_duplicate_policy: 'latest',
        history_feature_policies: [
          { feature: 'rain', aggregation: 'sum', duplicate_policy: 'latest' },
          { feature: 'quarter_hour', aggregation: 'last', duplicate_policy: 'reject' },
        ],
        history_steps: 4,
        max_horizon_steps: 288,
        max_quantiles: 0,
        max_output_age_ms: 3_600_000,
        max_missing_ratio: 0,
        max_input_age_ms: 900_000,
        max_gap_ms: 1_800_000,
        require_future_issue_time: true,
        allowed_fallbacks: ['persistence'],
        fallback_policies: [
          { strategy: 'persistence', version: '1', source_feature: 'load', max_output_age_ms: 1_800_000 },
        ],
      },
      artifact: { kind: 'model', family: 'site-load', version: 'v3' },
      processor_id: 'load-forecasting-edge',
      processor_version: '0.1.0',
      data_boundary: 'local',
      deadline_ms: 5000,
      audit_finalization_timeout_ms: 1000,
      max_concurrency: 1,
      // [data-processing §7]: max_frame_samples = max_frame_cells
      max_frame_samples: 5000,
      max_request_bytes: 4_194_304,
    });
  });
});
