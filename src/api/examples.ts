/**
 * Examples of the API description: each can be sent as it stands to a site that has rule 1, and a test sends them all. The
 * points are those of the demo site.
 */

export interface Example {
  /** A word or two. */
  readonly name: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** An answer as it may look; absent where it is long or of little use. */
  readonly answer?: unknown;
}

const rule = { id: '1' };
const confirmed = { confirmed: true };
const addedPoint = { id: 1, name: 'heat_demand', kind: 'measurement', unit: 'kW', channel: 'derived' };
const position = (x: number) => ({ x, y: 0 });

/** Reads the state of charge of the battery and stops its charging above 80 percent. */
const flow = {
  nodes: [
    { id: 'start', type: 'start', position: position(0), data: { config: { wires: { default: ['read'] } } } },
    {
      id: 'read',
      type: 'input',
      position: position(200),
      data: {
        label: 'State of charge',
        config: {
          variables: [{ name: 'soc', instance: 4, point_type: 'measurement', point: 1 }],
          wires: { default: ['decide'] },
        },
      },
    },
    {
      id: 'decide',
      type: 'decision',
      position: position(400),
      data: { config: { branches: [{ name: 'full', when: 'soc > 80' }], wires: { full: ['stop'], else: ['end'] } } },
    },
    {
      id: 'stop',
      type: 'action',
      position: position(600),
      data: { config: { writes: [{ instance: 4, point: 1, value: 0 }], wires: { default: ['end'] } } },
    },
    { id: 'end', type: 'end', position: position(800) },
  ],
  edges: [],
};

export const examples: Readonly<Record<string, readonly Example[]>> = {
  'platform.health': [{ name: 'alive', answer: { status: 'ok', service: 'svc-cloud-api', version: '1.0.0' } }],
  'platform.metadata': [{ name: 'metadata' }],
  'platform.ready': [
    {
      name: 'ready',
      answer: { status: 'ready', checks: { storage: 'ok', audit: 'ok', scheduler: 'ok', devices: 'ok' } },
    },
  ],
  'platform.metrics': [{ name: 'metrics' }],
  'automation.rule.list': [
    {
      name: 'enabled',
      query: { enabled: 'true', page: '1', page_size: '20' },
      answer: {
        success: true,
        data: {
          list: [{ id: 1, name: 'Stop at 80 percent', key: null, enabled: true, mode: 'live', description: null }],
          total: 1,
          page: 1,
          page_size: 20,
          total_pages: 1,
          has_next: false,
          has_previous: false,
        },
      },
    },
  ],
  'automation.rule.create': [
    {
      name: 'stub',
      body: { name: 'Stop at 80 percent', description: 'The battery lasts longer', ...confirmed },
      answer: { success: true, data: { id: 1, name: 'Stop at 80 percent', status: 'created' } },
    },
  ],
  'automation.rule.get': [{ name: 'rule', params: rule }],
  'automation.rule.update': [
    {
      name: 'flow',
      params: rule,
      body: { flow_json: flow, trigger_config: { type: 'interval', interval_ms: 1000 }, ...confirmed },
      answer: { success: true, data: { id: 1, status: 'updated', warnings: [] } },
    },
    {
      name: 'trigger',
      params: rule,
      body: {
        trigger_config: {
          type: 'on_change',
          point_refs: [{ instance: 4, point_type: 'measurement', point: 1 }],
          time_deadband_ms: 1000,
          value_deadband: { type: 'absolute', threshold: 0.5 },
        },
        ...confirmed,
      },
      answer: { success: true, data: { id: 1, status: 'updated', warnings: [] } },
    },
    {
      name: 'priority',
      params: rule,
      body: { priority: 10, cooldown_ms: 60_000, description: null, ...confirmed },
      answer: { success: true, data: { id: 1, status: 'updated', warnings: [] } },
    },
  ],
  'automation.rule.delete': [
    {
      name: 'delete',
      params: rule,
      body: confirmed,
      answer: { success: true, data: { id: 1, status: 'deleted' } },
    },
  ],
  'automation.rule.enable': [
    { name: 'enable', params: rule, body: confirmed, answer: { success: true, data: { id: 1, status: 'enabled' } } },
    { name: 'in shadow', params: rule, body: { mode: 'shadow', reason: 'a week beside the old rule', ...confirmed } },
  ],
  'automation.rule.disable': [
    { name: 'disable', params: rule, body: confirmed, answer: { success: true, data: { id: 1, status: 'disabled' } } },
  ],
  'automation.rule.test': [
    {
      name: 'of a draft',
      body: {
        flow_json: flow,
        tests: [
          {
            name: 'stops a full battery',
            given: [{ instance: 4, point_type: 'measurement', point: 1, value: 91 }],
            then: { outcome: 'acted', writes: [{ instance: 4, point: 1, value: 0 }] },
          },
        ],
      },
      answer: {
        success: true,
        data: {
          rule_id: null,
          passed: 1,
          failed: 0,
          results: [
            {
              name: 'stops a full battery',
              passed: true,
              differences: [],
              outcome: 'acted',
              error: null,
              writes: [{ instance: 4, point: 1, value: 0 }],
            },
          ],
        },
      },
    },
  ],
  'automation.rule.revisions': [{ name: 'revisions', params: rule, query: { limit: '20' } }],
  'automation.rule.revision': [{ name: 'first', params: { ...rule, revision: '1' } }],
  'automation.rule.diff': [
    {
      name: 'since the first',
      params: rule,
      query: { from: '1' },
      answer: {
        success: true,
        data: {
          classes: ['settings'],
          settings: [{ field: 'priority', before: 0, after: 10 }],
          nodes: { added: [], removed: [], changed: [] },
          wires: { added: [], removed: [] },
          actuators: [],
          sentence: { before: null, after: null },
        },
      },
    },
  ],
  'automation.rule.diff-draft': [{ name: 'draft', params: rule, body: { flow_json: flow, priority: 20 } }],
  'automation.rule.restore': [
    { name: 'restore', params: rule, body: { revision: 1, reason: 'the new threshold was too low', ...confirmed } },
  ],
  'automation.rule.duplicate': [
    {
      name: 'duplicate',
      params: rule,
      body: { name: 'Stop at 90 percent', ...confirmed },
      answer: { success: true, data: { id: 2, name: 'Stop at 90 percent', status: 'created' } },
    },
  ],
  'automation.rule.backtest': [
    {
      name: 'a day',
      params: rule,
      body: { from: '2026-07-11T00:00:00Z', to: '2026-07-12T00:00:00Z', mode: 'recorded' },
    },
  ],
  'automation.rule.plan': [{ name: 'one rule', body: { rules: [{ key: 'lamp', name: 'Lamp' }] } }],
  'automation.rule.apply': [
    {
      name: 'the plan above',
      body: {
        rules: [{ key: 'lamp', name: 'Lamp' }],
        digest: '8d14a6c0fb18108c26fc2ec97096732dafcf175b46e8ad4c3134efff5271ad75',
        ...confirmed,
      },
    },
  ],
  'automation.rule.templates': [{ name: 'all', query: {} }],
  'automation.rule.instantiate': [
    {
      name: 'a battery that is charged by the clock',
      body: {
        template: 'battery-night-charge',
        name: 'Charge at night',
        points: {
          soc: { instance: 4, point_type: 'measurement', point: 1 },
          setpoint: { instance: 4, point_type: 'action', point: 1 },
        },
        numbers: { soc_target: 70 },
        ...confirmed,
      },
    },
  ],
  'automation.rule.promote': [
    {
      name: 'promote',
      params: rule,
      body: { reason: 'a week without a difference', ...confirmed },
      answer: { success: true, data: { id: 1, status: 'promoted' } },
    },
  ],
  'automation.rule.shadow-report': [
    {
      name: 'a day',
      params: rule,
      query: { against: '1', from: '2026-07-11T00:00:00Z', to: '2026-07-12T00:00:00Z' },
      answer: { success: true, data: { compared: 0, equal: 0, differences: [] } },
    },
  ],
  'automation.rule.execute': [{ name: 'execute', params: rule, body: confirmed }],
  'automation.rule.variables': [
    {
      name: 'variables',
      params: rule,
      answer: {
        success: true,
        data: {
          rule_id: 1,
          variables: [
            {
              name: 'soc',
              node_ids: ['read'],
              instance: 4,
              point_type: 'measurement',
              point: 1,
              unit: '%',
              value: 62.5,
              quality: 'good',
              observed_at: '2026-08-15T12:30:00.000Z',
            },
          ],
        },
      },
    },
  ],
  'automation.rule.status': [{ name: 'status', params: rule }],
  'automation.rule.history': [{ name: 'newest', params: rule, query: { limit: '10' } }],
  'automation.point.list': [{ name: 'actuators', query: { kind: 'action' } }],
  'automation.point.series': [
    {
      name: 'a day of the battery',
      params: { instance: '4', point_type: 'measurement', point: '1' },
      query: { from: '2026-07-11T00:00:00Z', to: '2026-07-12T00:00:00Z', buckets: '96' },
    },
  ],
  'automation.point.rules': [
    { name: 'around the charge', params: { instance: '4', point_type: 'measurement', point: '1' } },
  ],
  'automation.channel.list': [{ name: 'all' }],
  'automation.point.override': [
    {
      name: 'battery off for a minute',
      params: { instance: '4', point: '1' },
      body: { value: 0, for_seconds: 60, reason: 'work on the feeder', ...confirmed },
    },
  ],
  'automation.point.limit': [
    {
      name: 'no more than 100 kW for a minute',
      params: { instance: '4', point: '1' },
      body: { max: 100, for_seconds: 60, reason: 'grid operator called', ...confirmed },
    },
  ],
  'automation.point.overrides': [{ name: 'in force' }],
  'automation.point.ownership': [{ name: 'the last day', params: { instance: '4', point: '1' } }],
  'identity.session.read': [{ name: 'who is signed in' }],
  'identity.user.list': [{ name: 'accounts' }],
  'identity.token.list': [{ name: 'tokens in use' }],
  'identity.token.revoke': [
    { name: 'all tokens of a subject', body: { subject: 'ada', reason: 'has left', ...confirmed } },
  ],
  'identity.user.add': [{ name: 'an engineer', body: { name: 'ada', role: 'Engineer', ...confirmed } }],
  'identity.user.reset': [{ name: 'a new password', params: { name: 'ada' }, body: confirmed }],
  'identity.user.change-role': [
    { name: 'an Admin from now on', params: { name: 'ada' }, body: { role: 'Admin', ...confirmed } },
  ],
  'identity.user.disable': [{ name: 'no more', params: { name: 'ada' }, body: confirmed }],
  'automation.alarm.list': [{ name: 'of high priority', query: { priority: 'high' } }],
  'automation.alarm.history': [{ name: 'a day', query: { from: '2026-07-11T00:00:00Z', to: '2026-07-12T00:00:00Z' } }],
  'automation.alarm.acknowledge': [{ name: 'seen', params: { alarm_id: 'override-active' }, body: confirmed }],
  'automation.alarm.acknowledge-many': [
    { name: 'seen', body: { alarm_ids: ['override-active', 'audit-broken'], ...confirmed } },
  ],
  'automation.alarm.shelve': [
    {
      name: 'out of view for an hour',
      params: { alarm_id: 'override-active' },
      body: { for_seconds: 3600, reason: 'work on the feeder is planned', ...confirmed },
    },
  ],
  'automation.alarm.unshelve': [{ name: 'back in view', params: { alarm_id: 'override-active' }, body: confirmed }],
  'automation.parameter.update': [
    {
      name: 'a lower demand limit',
      params: { name: 'demand_limit' },
      body: { value: 180, reason: 'tariff of the winter', ...confirmed },
    },
  ],
  'automation.parameter.reset': [
    { name: 'as in the file', params: { name: 'demand_limit' }, query: { confirmed: 'true' } },
  ],
  'automation.instance.list': [{ name: 'catalogue' }],
  'automation.site.changes': [{ name: 'changes' }],
  'automation.site.reload': [{ name: 'reload', body: confirmed }],
  'automation.site.preview-points': [
    { name: 'a meter', body: { instance: 9, instance_name: 'heat pump', points: [addedPoint] } },
  ],
  'automation.site.add-points': [
    { name: 'a meter', body: { instance: 9, instance_name: 'heat pump', points: [addedPoint], ...confirmed } },
  ],
  'automation.scheduler.status': [{ name: 'status' }],
  'automation.scheduler.reload': [
    {
      name: 'reload',
      body: confirmed,
      answer: { success: true, data: { rules_loaded: 3, rules_failed: [{ id: 7, code: 'no-runnable-flow' }] } },
    },
  ],
  'data_processing.tasks.list': [{ name: 'tasks' }],
  'data_processing.processors.health': [{ name: 'health' }],
  'data_processing.results.list': [{ name: 'loads', query: { task: 'demo.load-day-ahead', binding: 'demo.plant' } }],
  'data_processing.scores': [
    { name: 'by lead', query: { task: 'demo.load-day-ahead', binding: 'demo.plant', by: 'lead' } },
  ],
  'audit.event.search': [{ name: 'updates', query: { action: 'automation.rule.update', limit: '20' } }],
  'audit.event.stream': [{ name: 'page', query: { limit: '20' } }],
};
