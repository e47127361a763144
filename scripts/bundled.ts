import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildSync } from 'esbuild';

import { packages } from './packages.mjs';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'node_modules', '.cache', 'sluice-bundles');
const paths = new Map<string, string>();

/** What decides what is bundled, besides the files that are. */
const deciding = [
  fileURLToPath(import.meta.url),
  join(root, 'pnpm-lock.yaml'),
  ...packages.map(({ folder: of }) => join(of, 'package.json')),
];

/**
 * A script, and all that it imports, as one file of JavaScript, made from the sources as they are when a process first asks for it. If
 * they have not changed since another process made it, that one is taken.
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
  if (!isFresh(path)) build(script, path);
  paths.set(script.href, path);
  return path;
}

function build(script: URL, path: string): void {
  const source = fileURLToPath(script);
  const start = Date.now();
  const { outputFiles, metafile } = buildSync({
    entryPoints: [source],
    outfile: path,
    absWorkingDir: root,
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: ['@sluice/source'],
    // What is compiled for a machine can't be a part of it.
    external: ['@photostructure/sqlite', 'pg-native', 'pg-cloudflare'],
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
  const inputs = [...deciding, ...Object.keys(metafile.inputs).map((name) => join(root, name))];
  // Of what changed meanwhile nobody knows whether it is in the bundle as it is now.
  const isSettled = inputs.every((file) => statSync(file).mtimeMs < start);
  writeWhole(inputsOf(path), isSettled ? inputs.map(stampOf).join('\n') : '');
}

const inputsOf = (path: string): string => `${path}.inputs`;

/** A file's name and what changes with its content. */
function stampOf(file: string): string {
  const { size, mtimeMs } = statSync(file);
  return `${size} ${mtimeMs} ${file}`;
}

/** Whether a bundle is there, of files that have not changed since. */
function isFresh(path: string): boolean {
  try {
    statSync(path);
    const stamps = readFileSync(inputsOf(path), 'utf8').split('\n');
    return stamps.every((stamp) => stamp === stampOf(stamp.split(' ').slice(2).join(' ')));
  } catch {
    return false; // never made, or a file of it is gone
  }
}

/** Another process may be starting it, or writing the same. */
function writeWhole(path: string, content: string | Uint8Array): void {
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, content);
  renameSync(unfinished, path);
}
