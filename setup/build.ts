/**
 * `npm run build [-- FOLDER]`: the program as a site runs it, in `release/`. Each entry is one bundle with the packages that it uses, so that a site
 * installs none, starts in half the time, and holds half the memory: a thread loads a few files instead of hundreds.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

const root = join(import.meta.dirname, '..');
const release = resolve(process.argv[2] ?? join(root, 'release'));

/** Below `src/`: programs, and what they start threads with. */
const entries = [
  ...['serve', 'start', 'setpoint', 'forecaster', 'processor-check', 'processor-contract'].map((name) => `bin/${name}`),
  ...readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('-thread.ts') && !/(^|\/)(testing|fixture)\//.test(name))
    .map((name) => name.slice(0, -'.ts'.length)),
];

/** Files that the program reads while it runs, at the places where the sources have them. */
const files = [
  'console/dist',
  'docs/contract',
  'docs/processor-contract',
  'docs/guides',
  'config/demo',
  'ops',
  'CHANGELOG.md',
  'LICENSE',
  'NOTICE',
  'README.md',
];
const sources = [
  // The digest of these is the forecaster's identity.
  { folder: 'src/forecaster', wanted: (name: string) => name.endsWith('.ts') && !name.endsWith('.test.ts') },
  { folder: 'src/devices/templates', wanted: (name: string) => name.endsWith('.yaml') },
];

/** Modules of `src/` find files relative to `import.meta`; in a bundle these places are below `release/`. */
const places: Plugin = {
  name: 'places',
  transform(code, id) {
    const name = relative(root, id).replaceAll('\\', '/');
    if (!name.startsWith('src/') || !code.includes('import.meta.')) return null;
    const folder = dirname(name);
    const base = "import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + 1)";
    const placed = code
      .replaceAll(
        /new URL\('\.\/([\w-]+-thread)\.ts', import\.meta\.url\)/g,
        (_, thread: string) => `new URL(\`\${@@url}dist/${folder.slice('src/'.length)}/${thread}.js\`)`,
      )
      .replaceAll('import.meta.dirname', `process.getBuiltinModule('node:url').fileURLToPath(\`\${@@url}${folder}\`)`)
      .replaceAll('import.meta.url', `\`\${@@url}${name}\``)
      .replaceAll('@@url', base);
    return { code: placed };
  },
};

/**
 * An import of a built-in module reads all of its exports, and some load more when they are read: `node:http` loads the
 * implementation of fetch, which takes 40 ms and 3 MB. A bundle reads the members that it uses.
 */
const builtIns: Plugin = {
  name: 'built-ins',
  transform(code) {
    const taken = code.replaceAll(
      /^import (?!type\b)([^;'"]+?) from (['"])(node:[\w/]+)\2;?/gm,
      (_, clause: string, _quote, module: string) => {
        const from = `globalThis.process.getBuiltinModule('${module}')`;
        const members = /\{([^}]*)\}/.exec(clause)?.[1];
        const whole = clause.replace(/,?\s*\{[^}]*\}/, '').replace(/^\* as /, '').trim();
        const names = (members ?? '')
          .split(',')
          .map((name) => name.trim())
          .filter((name) => name !== '' && !name.startsWith('type '))
          .map((name) => name.replace(/^(\w+) as (\w+)$/, '$1: $2'));
        return [
          ...(whole === '' ? [] : [`const ${whole} = ${from};`]),
          ...(names.length === 0 ? [] : [`const { ${names.join(', ')} } = ${from};`]),
        ].join(' ');
      },
    );
    return taken === code ? null : { code: taken };
  },
};

/** Names of the packages that modules come from. */
const packages = new Set<string>();
const noted: Plugin = {
  name: 'noted',
  moduleParsed({ id }) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)(?!.*node_modules\/)/.exec(id.replaceAll('\\', '/'));
    if (name !== null) packages.add(id.slice(0, (name.index ?? 0) + name[0].length));
  },
};

const smallModules = [
  ...['clock', 'deadline', 'fault', 'id', 'nearest-name', 'optional-library', 'own-file', 'timestamp', 'trim-heap', 'turns', 'validity'].map(
    (name) => `base/${name}`,
  ),
  'site/quality',
  'site/scaling',
  'site/snapshot',
  'storage/retention-clock',
];
const smallParts = new RegExp(`src/(?:${smallModules.join('|')})\\.ts$`.replaceAll('/', '[\\\\/]'));

async function bundle(): Promise<void> {
  const input = Object.fromEntries(entries.map((entry) => [entry, join(root, 'src', `${entry}.ts`)]));
  const built = await rolldown({ input, platform: 'node', external: [/^node:/], plugins: [places, builtIns, noted] });
  const { output } = await built.write({
    dir: join(release, 'dist'),
    format: 'esm',
    // Names stay: they are in stacks and logs.
    minify: { mangle: false, compress: false, codegen: { removeWhitespace: true } },
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name]-[hash].js',
    // Small modules that almost every entry uses: together they are one file to load.
    codeSplitting: { groups: [{ name: 'base', test: smallParts }] },
  });
  await built.close();
  for (const { type, fileName } of output) {
    if (type !== 'chunk') continue;
    const file = join(release, 'dist', fileName);
    writeFileSync(file, inAscii(readFileSync(file, 'utf8')));
  }
}

/** The same program: a file with one character beyond Latin-1 takes two bytes for each of its characters, in every thread that loads it. */
function inAscii(code: string): string {
  // Behind a backslash the escape would begin with that one.
  const escaped = /(?<!\\)(?:\\\\)*\\[^\0-\x7f]/.exec(code);
  if (escaped !== null) throw new Error(`a character beyond ASCII is escaped by itself: ${escaped[0]}`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The licence of every package that is bundled, as it came with it. */
function licences(): string {
  const texts = [...packages].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly version: string;
      readonly license?: string;
    };
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
    return `${name} ${version} (${license ?? 'see below'})\n\n${text}\n`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

rmSync(release, { recursive: true, force: true });
await bundle();
for (const file of files) if (existsSync(join(root, file))) cpSync(join(root, file), join(release, file), { recursive: true });
for (const { folder, wanted } of sources)
  for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(wanted)) {
    mkdirSync(dirname(join(release, folder, name)), { recursive: true });
    cpSync(join(root, folder, name), join(release, folder, name));
  }
const { name, version, license, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, unknown>;
const description = { name, version, private: true, type: 'module', license, engines, bin: { setpoint: 'dist/bin/setpoint.js' } };
writeFileSync(join(release, 'package.json'), `${JSON.stringify(description, null, 2)}\n`);
writeFileSync(join(release, 'LICENSES-OF-PACKAGES.txt'), licences());
chmodSync(join(release, 'dist', 'bin', 'setpoint.js'), 0o755);
// The Node that runs this is the pinned one: `npm ci` checked it.
cpSync(process.execPath, join(release, 'node'));
process.stdout.write(`setpoint ${String(version)} is in ${release}, with ${packages.size} packages inside\n`);
