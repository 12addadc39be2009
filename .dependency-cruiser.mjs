/**
 * The import order of ARCHITECTURE.md as rules. A folder may import the folders listed for it, and itself.
 * Test files and src/testing may import anything; nothing but tests may import src/testing.
 */
const allowed = {
  base: [],
  api: ['base'],
  storage: ['base', 'api'],
  site: ['base'],
  rules: ['base', 'site'],
  points: ['base', 'site'],
  devices: ['base', 'site', 'points', 'rules'],
  historian: ['base', 'storage', 'site', 'points'],
  // Trees, notes and proofs that others verify: plain enough for a browser, but for its Node cryptography.
  transparency: ['base'],
  witness: ['base', 'transparency'],
  audit: ['base', 'api', 'storage', 'egress', 'transparency'],
  automation: ['base', 'api', 'storage', 'site', 'points', 'audit', 'rules'],
  // Rules tried on recorded history.
  backtest: ['base', 'api', 'storage', 'site', 'rules', 'historian', 'automation'],
  // What an operator sees and takes in hand.
  operator: ['base', 'api', 'site', 'points', 'devices', 'rules', 'historian', 'audit', 'automation'],
  alarms: ['base', 'api', 'storage', 'egress', 'site', 'points', 'devices', 'rules', 'automation'],
  // Which tables the site's databases have, and what is done with all of them: back up, move.
  databases: ['base', 'storage', 'alarms', 'audit', 'automation', 'historian', 'processing', 'sign-in'],
  // Who controls the site, and what the one in control starts.
  cluster: ['base', 'storage', 'site', 'points', 'rules', 'devices', 'historian', 'automation'],
  egress: ['base'],
  contract: ['base', 'api', 'site'],
  processing: ['base', 'api', 'egress', 'contract', 'site', 'points', 'storage', 'historian'],
  'processor-kit': ['base', 'api', 'egress', 'contract'],
  forecaster: ['base', 'api', 'site', 'contract', 'processor-kit'],
  gateway: ['base', 'api', 'egress', 'audit'],
  'sign-in': ['base', 'api', 'storage', 'audit', 'gateway'],
  platform: ['base', 'api', 'audit'],
  demo: ['base', 'site', 'devices', 'historian', 'automation', 'processing', 'forecaster', 'bin'],
  cli: ['base', 'api'],
  // Commands on the data dir itself, without a service.
  'cli/data-dir': [
    ...[
      'base',
      'api',
      'cli',
      'storage',
      'databases',
      'site',
      // Device templates, and devices to rehearse with.
      'devices',
      'historian',
      'audit',
      'automation',
      'contract',
      'processing',
    ],
    // The site's keys, tokens and accounts.
    'gateway',
    'sign-in',
    // What others check, and check for others.
    'transparency',
    'witness',
  ],
  mcp: ['base', 'api'],
};

const test = '\\.test\\.ts$';

/** A folder in a folder has rules of its own. */
const inner = (folder) => Object.keys(allowed).filter((name) => name.startsWith(`${folder}/`));

const order = Object.entries(allowed).map(([folder, others]) => ({
  name: `import-order-${folder}`,
  comment: `src/${folder} may import ${others.length === 0 ? 'nothing' : others.join(', ')} of src`,
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: [test, ...inner(folder).map((name) => `^src/${name}/`)] },
  to: { path: '^src/', pathNot: [folder, ...others].map((name) => `^src/${name}/`) },
}));

export default {
  forbidden: [
    ...order,
    {
      name: 'console-is-a-client',
      comment:
        'the console uses src/api, src/rules (the very parser and executor), src/site and src/transparency, and what these stand on',
      severity: 'error',
      from: { path: '^console/src/', pathNot: test },
      to: { path: '^src/', pathNot: '^src/(api|rules|site|transparency|base)/' },
    },
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'testing-is-for-tests',
      severity: 'error',
      from: { path: '^src/', pathNot: [test, '^src/testing/'] },
      to: { path: '^src/testing/' },
    },
    {
      name: 'contracts-without-a-route',
      comment: 'no route leads to provider regions, stack plans or gateway enrollment',
      severity: 'error',
      from: { path: '^src/(api|gateway|bin)/', pathNot: test },
      to: { path: '^src/platform/(provider-regions|stack-plan|gateway-enrollment)/', reachable: true },
    },
    {
      name: 'browser-safe',
      comment:
        'rules, api and transparency (but signing.ts) run in a browser: no built-in module of Node is reachable from them',
      severity: 'error',
      from: { path: '^src/(rules|api|transparency)/', pathNot: [test, '^src/transparency/signing\\.ts$'] },
      to: {
        path: '^(node:)?(async_hooks|child_process|cluster|crypto|dgram|dns|fs|fs/promises|http|https|net|os|path|perf_hooks|sqlite|stream|timers|tls|url|worker_threads|zlib)$',
        reachable: true,
      },
    },
    {
      name: 'derived-data-never-commands',
      comment:
        'processing reads points and cannot reach a command slot, a device or a rule that runs [data-processing §7]',
      severity: 'error',
      from: { path: '^src/processing/', pathNot: test },
      to: {
        path: '^src/(points/command-slots|site/command-port|rules/executor|devices/|automation/|cluster/|gateway/)',
        reachable: true,
      },
    },
    {
      name: 'environment-is-for-bin',
      severity: 'error',
      from: { pathNot: '^(src/bin|src/demo|tests|bench)/' },
      to: { path: '^src/bin/' },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: 'node_modules/.*/node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.mjs', '.js'],
      conditionNames: ['import', 'node', 'default', 'types'],
      exportsFields: ['exports'],
    },
  },
};
