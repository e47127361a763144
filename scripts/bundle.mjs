// The second half of a package's build, run in its folder: each entry becomes one file of JavaScript, and what several of them share a chunk
// beside them. Packages that its package.json asks for stay imports. All others that its sources use are inlined, with their licenses.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';

import { build } from 'esbuild';

const folder = process.cwd();
const dist = join(folder, 'dist');
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const isCommand = manifest.bin !== undefined;
// A peer of the command is there for those who import its types: the command itself runs without.
/** What is compiled for a machine, or is there for another one, can't be inlined. */
const native = ['@photostructure/sqlite', 'pg-native', 'pg-cloudflare'];
/** What only some users of the command need is for them to install. */
const optional = ['@sluice/cluster', '@sluice/dashboard'];
const installed = Object.keys({ ...manifest.dependencies, ...(!isCommand && manifest.peerDependencies) });

for (const file of readdirSync(dist, { recursive: true })) if (/\.js(\.map)?$/.test(file)) rmSync(join(dist, file));

const options = {
  absWorkingDir: folder,
  outdir: dist,
  // Beside the entries, so that `../package.json` is the package's from each of them, as it is from `src`.
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // `#adapter` is for whoever imports the package to resolve, by their own conditions. In the command it is Node's.
  external: [...installed, ...(isCommand ? [...native, ...optional] : ['#adapter'])],
  // `module` is esbuild's own default, unless others are asked for: without it tslib is CommonJS.
  conditions: ['@sluice/source', 'module'],
  mainFields: ['module', 'main'],
  sourcemap: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
  plugins: isCommand ? [rxjsModules(), axiosParts()] : [],
  // What is CommonJS in the command requires modules of Node.
  ...(isCommand && {
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';const require = requireFrom(import.meta.url);",
    },
  }),
};
const entries = entriesOf(manifest);
const apart = isCommand ? [] : await loneSources(entries);
const { metafile } = await build({ ...options, entryPoints: Object.fromEntries([...entries, ...apart]) });

const outputs = Object.entries(metafile.outputs)
  .filter(([path]) => !isDoor(path))
  .map(([path]) => relative(dist, resolve(folder, path)).replaceAll(sep, '/'));
for (const path of Object.keys(metafile.outputs)) if (isDoor(path)) rmSync(resolve(folder, path));
for (const map of outputs.filter((path) => path.endsWith('.map'))) leadToSources(join(dist, map));
for (const script of outputs.filter((path) => path.endsWith('.js'))) nameClasses(join(dist, script));
const used = Object.values(metafile.outputs).flatMap(({ inputs }) =>
  Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [resolve(folder, path)] : [])),
);
const inlined = [...new Set(used.flatMap((path) => packageOf(path) ?? []))];
writeLicenses(inlined.sort());
// For removeLeftovers: what a cache restores is added to what is there.
writeFileSync(join(dist, '.bundled'), `${outputs.sort().join('\n')}\n`);

/** Whether a file is the door of a source that is apart: its code is a chunk, which others import by itself. */
function isDoor(path) {
  const doors = apart.map(([name]) => `dist/${name}.js`);
  return doors.includes(path.replace(/\.map$/, ''));
}

/** The source of each entry, by its path in `dist` without `.js`. */
function entriesOf({ exports, imports = {}, bin = {} }) {
  const source = '@sluice/source';
  const pairs = [
    ...Object.values(exports).map((target) => [target[source], target.default]),
    ...Object.values(imports).flatMap((target) =>
      Object.entries(target[source]).map(([condition, path]) => [path, target[condition]]),
    ),
    ...Object.values(bin).map((path) => [path.replace('/dist/', '/src/').replace(/\.js$/, '.ts'), path]),
  ];
  return pairs.filter(([path]) => path).map(([path, built]) => [relative('dist', built).replace(/\.js$/, ''), path]);
}

/**
 * Sources that become a chunk of their own, since they import a package that may do something when it is loaded. A user's bundler leaves out a
 * file of which nothing is used, but from a file of which anything is used it keeps such an import.
 */
async function loneSources(entries) {
  const { metafile } = await build({ ...options, entryPoints: Object.fromEntries(entries), write: false });
  const { resolve: find } = createRequire(join(folder, 'package.json'));
  const homeOf = (name) =>
    find
      .paths(name)
      .map((parent) => join(parent, name))
      .find((home) => existsSync(home));
  const isLoaded = ({ path, external }) => {
    const [name] = /^(?:@[^/]+\/)?[^/]+/.exec(path) ?? [path];
    const home = external ? installed.includes(name) && homeOf(name) : packageOf(resolve(folder, path));
    return home && JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')).sideEffects !== false;
  };
  const known = new Set(entries.map(([, source]) => resolve(folder, source)));
  const lone = Object.entries(metafile.inputs).filter(
    ([source, { imports }]) =>
      !packageOf(resolve(folder, source)) && !known.has(resolve(folder, source)) && imports.some(isLoaded),
  );
  if (lone.length === 0) return [];
  // What they import has a door too, one for all. Otherwise their chunks would hold what nothing but other sources behind the index use.
  const beneath = lone.flatMap(([, { imports }]) =>
    imports
      .filter(
        ({ path, external }) => !external && !known.has(resolve(folder, path)) && !packageOf(resolve(folder, path)),
      )
      .map(({ path }) => path),
  );
  const doors = lone.map(([source]) => [relative('src', source).replace(/\.ts$/, ''), source]);
  options.plugins.push(joined('beneath', [...new Set(beneath)]));
  return [...doors, ['beneath', 'beneath']];
}

/** A module that reaches each of these sources, and is nowhere on the disk. */
function joined(name, sources) {
  return {
    name,
    setup({ onResolve, onLoad }) {
      onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: name, namespace: name }));
      onLoad({ filter: /.*/, namespace: name }, () => ({
        contents: sources.map((source) => `export * from './${source}';`).join('\n'),
        resolveDir: folder,
      }));
    },
  };
}

/** RxJS as its ES modules, which can be shaken: Node would find its CommonJS. */
function rxjsModules() {
  return {
    name: 'rxjs-modules',
    setup({ onResolve }) {
      const main = createRequire(join(folder, 'package.json')).resolve('rxjs/package.json');
      onResolve({ filter: /^rxjs$/ }, () => ({
        path: join(dirname(main), 'dist/esm/index.js'),
        sideEffects: false,
      }));
    },
  };
}

/**
 * Axios without what our requests never use, and with it all that this loads: its adapters, what it has for Node, as it leaves both out for
 * browsers, and forms, since asking for `FormData` makes Node load its own `fetch`.
 */
function axiosParts() {
  const absent =
    /axios[\\/]lib[\\/](?:adapters[\\/](?:http|xhr|fetch)|platform[\\/]browser[\\/]classes[\\/]FormData)\.js$/;
  const ofNode = /^(?:\.\.?[\\/])+(?:platform[\\/])?node[\\/](?:index|classes[\\/]FormData)\.js$/;
  const asksForForms = "typeof G.FormData !== 'undefined' ? G.FormData : undefined";
  return {
    name: 'axios-parts',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: ofNode }, ({ path, importer }) => {
        if (!/axios[\\/]lib[\\/]/.test(importer)) return undefined;
        return { path: resolve(dirname(importer), path.replace(/node([\\/])/, 'browser$1')) };
      });
      onLoad({ filter: absent }, () => ({ contents: 'export default null; export const getFetch = () => null;' }));
      onLoad({ filter: /axios[\\/]lib[\\/]utils\.js$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (!text.includes(asksForForms))
          throw new Error(`${path} asks for FormData in other words. Look at axiosParts.`);
        return { contents: text.replace(asksForForms, 'undefined') };
      });
    },
  };
}

/**
 * Sources of this package lie beside its `dist`. Those of our other packages need not, so the map brings them along. Code of others is named
 * as it would be installed, and left out by debuggers.
 */
function leadToSources(path) {
  const map = JSON.parse(readFileSync(path, 'utf8'));
  const ofOthers = /^.*[\\/]node_modules[\\/]/;
  const isWithout = (source) =>
    ofOthers.test(source) || !relative(join(folder, 'src'), resolve(dirname(path), source)).startsWith('..');
  const texts = map.sources.map((source, at) => (isWithout(source) ? null : map.sourcesContent[at]));
  if (texts.some((text) => text !== null)) map.sourcesContent = texts;
  else delete map.sourcesContent;
  map.ignoreList = map.sources.flatMap((source, at) => (ofOthers.test(source) ? [at] : []));
  map.sources = map.sources.map((source) => source.replace(ofOthers, '../node_modules/'));
  writeFileSync(path, JSON.stringify(map));
}

/**
 * Makes `var Source = class _Source` what it was called: who prints an instance sees the name. Each name stays as long as it is, so that
 * the maps stay right.
 */
function nameClasses(path) {
  const text = readFileSync(path, 'utf8');
  const names = [...text.matchAll(/^var (\w+) = class _\1\b/gm)].map(([, name]) => name);
  if (names.length === 0) return;
  writeFileSync(path, text.replace(new RegExp(`\\b_(${names.join('|')})\\b`, 'g'), '$1 '));
}

/** The folder of the package that a file of others belongs to. */
function packageOf(path) {
  const [, home] = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(path) ?? [];
  return home;
}

/** The terms under which others let us pass their code on. */
function writeLicenses(homes) {
  const path = join(dist, 'THIRD-PARTY-LICENSES.txt');
  rmSync(path, { force: true });
  if (homes.length === 0) return;
  const texts = homes.map((home) => {
    const { name, version, license } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    const files = readdirSync(home).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
    const terms = files.map((file) => readFileSync(join(home, file), 'utf8').trim());
    return [`${name} ${version} (${license})`, ...terms].join('\n\n');
  });
  const line = `\n\n${'-'.repeat(80)}\n\n`;
  writeFileSync(path, `Code of these packages is part of the files in this folder.${line}${texts.join(line)}\n`);
}
