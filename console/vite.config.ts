/**
 * How the console is built: one page, hashed assets, each with its compressed twins beside it, because the service sends
 * what is on disk and compresses nothing itself.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { build, defineConfig, type Plugin } from 'vite';

// Whatever shell or test it is built by: components compiled for development do not run with the production build of React.
process.env['NODE_ENV'] = 'production';

const compressible = /\.(js|css|html|svg)$/;
/** What the first load of a rule does without: the other pages, the operations that only they call, long tables, and what a dialog shows of changes. */
const operatorModules =
  /console\/src\/editor\/(changes|draft-difference|save-dialog|conflict-dialog)|src\/rules\/(difference|test-of-run)\.ts|console\/src\/parts\/long-rows|node_modules\/@tanstack\/(react-virtual|virtual-core)|console\/src\/(site|points|devices|alarms\/(?!alarm-(list|words))|users|forecasts|revisions|evidence|templates\/template-(dialog|update|queries))|src\/api\/(points|users|revisions|backtest|rule-tests|rule-templates|processing[a-z-]*)\.ts/;
/** Shared by several parts of a rule's page, and by no other page. */
const drawingModules = /console\/src\/(editor\/(canvas-view|edit-wires|edit-names)|parts\/(copy-text|file-save))\.ts/;
const outDir = join(import.meta.dirname, 'dist');

/** TypeBox registers twenty formats with their tables. Only those that the schemas of the API use are bundled. */
function usedFormats(): Plugin {
  const schemas = join(import.meta.dirname, '..', 'src', 'api');
  return {
    name: 'used-formats',
    apply: 'build',
    transform(code, id) {
      if (!id.replaceAll('\\', '/').endsWith('typebox/build/format/_registry.mjs')) return null;
      const texts = readdirSync(schemas).map((file) => readFileSync(join(schemas, file), 'utf8'));
      const used = new Set(
        texts.flatMap((text) => [...text.matchAll(/\bformat: '([a-z-]+)'/g)].map(([, name]) => name)),
      );
      // Tree shaking then removes the imports of the others.
      const kept = code.replaceAll(/formats\.set\('([a-z-]+)', \w+\);/g, (line: string, name: string) =>
        used.has(name) ? line : '',
      );
      if (kept === code || used.size === 0) this.error('the registry of formats has another form');
      return { code: kept, map: null };
    },
  };
}

/** The canvas pans and zooms with transitions that could animate colours, too, and never do: what reads colours is left out. */
function withoutColours(): Plugin {
  const name = '\0no-colours';
  return {
    name: 'without-colours',
    apply: 'build',
    enforce: 'pre',
    resolveId: (source) => (source === 'd3-color' ? name : null),
    load: (id) =>
      id === name
        ? `export function color() { return null; }
           export function rgb() { throw new Error('colours are not animated'); }
           export { rgb as hsl, rgb as lab, rgb as hcl, rgb as cubehelix };`
        : null,
  };
}

function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    closeBundle() {
      for (const file of readdirSync(join(outDir, 'assets')).filter((name) => compressible.test(name))) {
        const path = join(outDir, 'assets', file);
        const bytes = readFileSync(path);
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
        // Quality 9 of 11: a tenth of the time, two percent larger.
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
      }
    },
  };
}

/** The page that checks audit proofs: one file with everything in it, which an auditor opens from a disk. */
function verifierPage(): Plugin {
  const folder = join(import.meta.dirname, 'src', 'verifier');
  return {
    name: 'verifier-page',
    apply: 'build',
    async closeBundle() {
      const made = await build({
        configFile: false,
        logLevel: 'warn',
        build: {
          write: false,
          target: 'es2022',
          lib: { entry: join(folder, 'verify-proof.ts'), formats: ['iife'], name: 'verifier' },
        },
      });
      const [bundle] = Array.isArray(made) ? made : [made];
      const chunk = bundle !== undefined && 'output' in bundle ? bundle.output[0] : undefined;
      if (chunk?.type !== 'chunk') throw new Error('the verifier page has no script');
      const script = chunk.code.replaceAll('</', '<\\/');
      const page = readFileSync(join(folder, 'verify-proof.html'), 'utf8').replace('/* SCRIPT */', () => script);
      writeFileSync(join(outDir, 'assets', 'verify-proof.html'), page);
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/',
  plugins: [react(), usedFormats(), withoutColours(), precompress(), verifierPage()],
  build: {
    outDir,
    emptyOutDir: true,
    // The first browsers with light-dark() and everything else that is used.
    target: ['chrome123', 'edge123', 'firefox128', 'safari17.5'],
    // Data URIs would need a wider policy for fonts and images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Many small files compress badly. Modules that four or more pages share form one file, except those that a rule's page does not need;
    // modules that only the parts of a rule's page share form another.
    rolldownOptions: {
      // No module depends on the side effect of a getter.
      treeshake: { propertyReadSideEffects: false },
      output: {
        codeSplitting: {
          groups: [
            { name: 'shared', test: (id: string) => !operatorModules.test(id), minShareCount: 4 },
            { name: 'drawing', test: drawingModules, minShareCount: 2 },
          ],
        },
      },
    },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
  },
});
