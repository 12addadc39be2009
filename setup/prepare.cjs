/**
 * `npm run prepare`, which `npm ci` runs at its end, by whatever Node runs npm: checks the Node that npm has brought against
 * the digest that is pinned here, before anything runs by it, and then has the console built. Without the packages of
 * development (`--omit=dev`) there is nothing to check and nothing to build with: that is said, and is not an error.
 */
const { createHash } = require('node:crypto');
const { existsSync, readFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
const { join } = require('node:path');

const root = join(__dirname, '..');
const binary = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');

if (!existsSync(binary)) {
  console.log('setpoint: installed without its own Node and without building the console (--omit=dev)');
  process.exit(0);
}
const { version, sha256 } = JSON.parse(readFileSync(join(__dirname, 'node-binaries.json'), 'utf8'));
const platform = `${process.platform}-${process.arch}`;
const wanted = sha256[platform];
const found = createHash('sha256').update(readFileSync(binary)).digest('hex');
if (wanted === undefined) console.warn(`setpoint: no digest of Node ${version} is pinned for ${platform}; it is not checked`);
else if (found !== wanted) {
  console.error(`setpoint: the Node ${version} for ${platform} in node_modules is not the pinned one`);
  console.error(`  pinned ${wanted}\n  found  ${found}`);
  process.exit(1);
}
if (!existsSync(join(root, 'node_modules', 'vite'))) process.exit(0);
const built = spawnSync(binary, [join(root, 'console', 'build.ts')], { cwd: root, stdio: 'inherit' });
process.exit(built.status ?? 1);
