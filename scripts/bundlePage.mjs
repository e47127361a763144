// The third part of the dashboard's build, run in its folder: the page becomes one script and one style sheet in `dist/page`, which the
// package carries. It loads nothing from elsewhere, so the licenses of what is inside go with it.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';

import { build } from 'esbuild';

const folder = process.cwd();
const from = join(folder, 'src/page');
const to = join(folder, 'dist/page');
mkdirSync(to, { recursive: true });

const { metafile } = await build({
  absWorkingDir: folder,
  entryPoints: [
    { in: join(from, 'main.tsx'), out: 'page' },
    { in: join(from, 'style.css'), out: 'page' },
  ],
  outdir: to,
  bundle: true,
  minify: true,
  format: 'esm',
  // Served beside the page.
  external: ['/icon.svg'],
  target: ['chrome111', 'firefox115', 'safari16.4'],
  conditions: ['@sluice/source', 'module'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
for (const name of ['index.html', 'icon.svg']) copyFileSync(join(from, name), join(to, name));

// removeLeftovers.mjs keeps what stands here.
const list = join(folder, 'dist/.bundled');
writeFileSync(list, `${readFileSync(list, 'utf8')}page/page.js\n`);

const homes = new Set(
  Object.values(metafile.outputs)
    .flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    )
    .flatMap(
      (path) => /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(resolve(folder, path))?.[1] ?? [],
    ),
);
const texts = [...homes].sort().map((home) => {
  const { name, version, license } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  const files = readdirSync(home).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  return [
    `${name} ${version} (${license})`,
    ...files.map((file) => readFileSync(join(home, file), 'utf8').trim()),
  ].join('\n\n');
});
const line = `\n\n${'-'.repeat(80)}\n\n`;
const here = relative(folder, to).replaceAll(sep, '/');
writeFileSync(
  join(to, 'LICENSES.txt'),
  `Code of these packages is part of the files in ${here}.${line}${texts.join(line)}\n`,
);
