import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildSync } from 'esbuild';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'node_modules', '.cache', 'sluice-bundles');
const paths = new Map<string, string>();

/**
 * A script, and all that it imports, as one file of JavaScript, made from the sources as they are when a process first asks for it.
 * Node starts it with a quarter of the CPU that the script takes through a loader for TypeScript, which counts where a test starts many.
 * It has the script's own `import.meta.url` and `import.meta.dirname`.
 *
 * @returns its path: the same one in every run, so that nothing piles up.
 */
export function bundled(script: URL): string {
  const known = paths.get(script.href);
  if (known !== undefined) return known;
  const source = fileURLToPath(script);
  const path = join(folder, relative(root, source).replace(/\.ts$/, '.js'));
  const { outputFiles } = buildSync({
    entryPoints: [source],
    outfile: path,
    write: false,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: ['@sluice/source'],
    define: {
      'import.meta.url': JSON.stringify(script.href),
      'import.meta.dirname': JSON.stringify(dirname(source)),
    },
    // What CommonJS requires, of Node's own modules.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    logLevel: 'warning',
  });
  mkdirSync(dirname(path), { recursive: true });
  writeWhole(join(folder, 'package.json'), '{"type":"module"}');
  for (const { contents } of outputFiles) writeWhole(path, contents);
  paths.set(script.href, path);
  return path;
}

/** Another process may be starting it, or writing the same. */
function writeWhole(path: string, content: string | Uint8Array): void {
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, content);
  renameSync(unfinished, path);
}
