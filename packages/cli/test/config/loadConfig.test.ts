import { execFileSync } from 'node:child_process';
import { chmodSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { settingsFor } from '../runSluice.js';
import { configFolder, run } from './configFolder.js';

const key = 'canary-7d0b41c9';

/** The names of the sinks that plugins have brought along. */
async function sinksOf(folder: string, ...args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await run(['sources', '--format', 'json', ...args], folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return (JSON.parse(stdout) as { readonly sinks: unknown }).sinks;
}

/** A command that needs its configuration ends with one sentence, exit code 2, no stack and no key. */
async function faultOf(files: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
  const folder = configFolder(files);
  const { code, stdout, stderr } = await run(['sources', ...args], folder, { SLUICE_API_KEY: key });
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^sluice: [^\n]+\n$/),
  });
  expect(stderr).not.toContain(key);
  return stderr.slice('sluice: '.length, -1).replaceAll(folder, 'FOLDER');
}

const named = (name: string): string => `{ name: '${name}', sinks: { '${name}': () => undefined } }`;

describe('a configuration', () => {
  test('in JavaScript holds plugins, in their order; those that are left out are skipped', async () => {
    const folder = configFolder({
      'sluice.config.js': `import { two } from './two.js'; export default { plugins: [${named('one')}, false, null, two] };`,
      'two.js': `export const two = ${named('two')};`,
    });
    expect(await sinksOf(folder)).toEqual(['one', 'two']);
  });

  test('in TypeScript imports .ts as .js, packages that are modules only, and defineConfig', async () => {
    const folder = configFolder({
      'sluice.config.ts': `
        import { defineConfig } from '@sluice/cli/config';
        import type { Plugin } from '@sluice/core';
        import only from 'modules-only';
        import { two } from './lib/two.js';
        const plugins: Plugin[] = [only, two satisfies Plugin];
        export default defineConfig({ plugins: await Promise.resolve(plugins) });`,
      'lib/two.ts': `import type { Plugin } from '@sluice/core'; export const two: Plugin = ${named('two')};`,
      'node_modules/modules-only/package.json': '{ "type": "module", "exports": { "import": "./index.js" } }',
      'node_modules/modules-only/index.js': `await 0; export default ${named('one')};`,
    });
    expect(await sinksOf(folder)).toEqual(['one', 'two']);
  });

  test('in JSON names modules, looked up from its own folder, with options or without', async () => {
    const made = `import { definePlugin } from '@sluice/core';
      export const make = ({ name }) => definePlugin({ name, sinks: { [name + '-sink']: () => undefined } });`;
    const folder = configFolder({
      'conf/sluice.config.json': JSON.stringify({
        plugins: ['./whole.js', ['../make.js', { name: 'made' }], ['./typed.ts', { name: 'typed' }], 'some-package'],
      }),
      'conf/whole.js': `export default ${named('whole')};`,
      'make.js': made,
      'conf/typed.ts': `export default async ({ name }: { name: string }) => (${named('typed')});`,
      'node_modules/some-package/package.json': '{ "type": "module", "exports": { "import": "./index.js" } }',
      'node_modules/some-package/index.js': `export const make = () => (${named('bare')});`,
    });
    expect(await sinksOf(folder, '--config', 'conf/sluice.config.json')).toEqual([
      'bare',
      'made-sink',
      'typed',
      'whole',
    ]);
    // In the folder itself there is none.
    expect(await sinksOf(folder)).toEqual([]);
  });

  test('in JSON keeps the digits of a number that JSON.parse would change', async () => {
    const folder = configFolder({
      'sluice.config.json': '{ "plugins": [["./made.js", { "name": 12345678901234567890 }]] }',
      'made.js': "export const made = ({ name }) => ({ name: 'made', sinks: { ['n' + name]: () => undefined } });",
    });
    expect(await sinksOf(folder)).toEqual(['n12345678901234567890']);
  });

  test('may come as a promise, from CommonJS, and behind a byte order mark', async () => {
    const promise = configFolder({
      'sluice.config.mjs': `export default Promise.resolve({ plugins: [${named('one')}] });`,
    });
    expect(await sinksOf(promise)).toEqual(['one']);
    const common = configFolder({
      'package.json': '{}',
      'sluice.config.js': `module.exports = { plugins: [${named('one')}] };`,
    });
    expect(await sinksOf(common)).toEqual(['one']);
    expect(await sinksOf(configFolder({ 'sluice.config.json': '\ufeff{}' }))).toEqual([]);
  });

  test('stays out with --no-config, and where nothing talks to an API', async () => {
    const folder = configFolder({ 'sluice.config.js': 'throw new Error("loaded");' });
    expect(await sinksOf(folder, '--no-config')).toEqual([]);
    for (const args of [
      ['--version'],
      ['--help'],
      ['export', '--help'],
      ['sandbox', '--nasty', '2'],
      ['dlq', 'show', 'x'],
    ])
      expect((await run(args, folder)).stderr).not.toContain('loaded');
    expect((await run(['sources'], folder)).stderr).toContain('loaded');
  });
});

describe('a configuration that can not be used is told in a sentence', () => {
  test.each<[string, Record<string, string>, string]>([
    [
      'two of them',
      { 'sluice.config.js': 'export default {}', 'sluice.config.json': '{}' },
      'There is more than one configuration here: sluice.config.js, sluice.config.json. Keep one of them, or name it with --config FILE.',
    ],
    [
      'a fault in JSON',
      { 'sluice.config.json': '{ "plugins": [],\n  "defaults": { "rate": "5/s", }\n}' },
      'sluice.config.json is not valid JSON: property name expected at line 2, column 32.',
    ],
    [
      'no JSON at all',
      { 'sluice.config.json': '' },
      'sluice.config.json is not valid JSON: value expected at line 1, column 1.',
    ],
    [
      'a fault in TypeScript',
      { 'sluice.config.ts': 'export default {\n  plugins: [foo bar],\n};' },
      'sluice.config.ts failed while it was loaded: ParseError: Unexpected token, expected "," FOLDER/sluice.config.ts:2:16. SLUICE_DEBUG=1 shows where.',
    ],
    [
      'a fault in what it imports',
      { 'sluice.config.ts': "import { a } from './a.js';\nexport default a;", 'a.ts': '\nexport const a = ;' },
      'sluice.config.ts failed while it was loaded: ParseError: Unexpected token FOLDER/a.ts:2:17. SLUICE_DEBUG=1 shows where.',
    ],
    [
      'an error',
      { 'sluice.config.js': 'throw new Error("no\\n luck");' },
      'sluice.config.js failed while it was loaded: no luck. SLUICE_DEBUG=1 shows where.',
    ],
    [
      'text that is thrown',
      { 'sluice.config.js': "throw 'oops'" },
      'sluice.config.js failed while it was loaded: oops.',
    ],
    [
      'nothing that is thrown',
      { 'sluice.config.js': 'throw undefined' },
      'sluice.config.js failed while it was loaded: undefined.',
    ],
    [
      'a promise that is rejected',
      { 'sluice.config.js': 'export default Promise.reject(new Error("late"));' },
      'sluice.config.js failed while it was loaded: late. SLUICE_DEBUG=1 shows where.',
    ],
    [
      'a trap',
      { 'sluice.config.js': 'export default { get plugins() { throw new Error("trap"); } };' },
      'sluice.config.js failed while it was loaded: trap. SLUICE_DEBUG=1 shows where.',
    ],
    [
      'no default export',
      { 'sluice.config.js': 'export const plugins = [];' },
      'sluice.config.js has no default export. Write "export default { plugins: [], defaults: {} }".',
    ],
    [
      'a function',
      { 'sluice.config.js': 'export default () => ({});' },
      'sluice.config.js holds no configuration. It must be an object like { "plugins": [], "defaults": {} }.',
    ],
    [
      'a list',
      { 'sluice.config.json': '[]' },
      'sluice.config.json holds no configuration. It must be an object like { "plugins": [], "defaults": {} }.',
    ],
    [
      'an unknown setting',
      { 'sluice.config.json': '{ "plugin": [] }' },
      'sluice.config.json has an unknown setting "plugin". Did you mean plugins?',
    ],
    [
      'a prototype',
      { 'sluice.config.json': '{ "__proto__": { "plugins": [] } }' },
      'sluice.config.json has an unknown setting "__proto__". Available: plugins, defaults, limits.',
    ],
    [
      'plugins that are no list',
      { 'sluice.config.json': '{ "plugins": "x" }' },
      '"plugins" in sluice.config.json must be an array: write [ ] around what is there.',
    ],
    [
      'a package that is not there',
      { 'sluice.config.json': '{ "plugins": [["@acme/sluice-coins/lite", {}]] }' },
      '"@acme/sluice-coins/lite", plugins[0] of sluice.config.json, can\'t be loaded. It is not installed in FOLDER: run "npm install @acme/sluice-coins" there.',
    ],
    [
      'a file that is named like a package',
      { 'sluice.config.json': '{ "plugins": ["ledger.ts"] }', 'ledger.ts': 'export default {};' },
      '"ledger.ts", plugins[0] of sluice.config.json, names a package, but is a file beside sluice.config.json: write "./ledger.ts".',
    ],
    [
      'a file that is not there',
      { 'sluice.config.json': '{ "plugins": ["./gone.js"] }' },
      '"./gone.js", plugins[0] of sluice.config.json, is not there: there is no file FOLDER/gone.js.',
    ],
    [
      'a folder in place of a module',
      { 'sluice.config.json': '{ "plugins": ["./coins"] }', 'coins/index.js': 'export default { name: "coins" };' },
      '"./coins", plugins[0] of sluice.config.json, is a folder. Name the file in it: "./coins/index.js", say.',
    ],
    [
      'a plugin that fails while it loads',
      { 'sluice.config.json': '{ "plugins": ["./a.js"] }', 'a.js': 'throw new Error("no table");' },
      '"./a.js", plugins[0] of sluice.config.json, failed while it was loaded: no table. SLUICE_DEBUG=1 shows where.',
    ],
    [
      'a plugin that throws text while it loads',
      { 'sluice.config.json': '{ "plugins": ["./a.js"] }', 'a.js': 'throw "no table";' },
      '"./a.js", plugins[0] of sluice.config.json, failed while it was loaded: no table.',
    ],
    [
      'a plugin with a syntax error',
      { 'sluice.config.json': '{ "plugins": ["./a.ts"] }', 'a.ts': 'export default {' },
      '"./a.ts", plugins[0] of sluice.config.json, failed while it was loaded: ParseError: Unexpected token FOLDER/a.ts:1:16. SLUICE_DEBUG=1 shows where.',
    ],
    [
      'a function that makes no plugin',
      { 'sluice.config.json': '{ "plugins": ["./a.js"] }', 'a.js': 'export default () => {};' },
      '"./a.js", plugins[0] of sluice.config.json, returned nothing: its function has to return a plugin.',
    ],
    [
      'an import that is not installed',
      { 'sluice.config.ts': "import coins from 'sluice-coins';\nexport default { plugins: [coins] };" },
      'sluice.config.ts imports "sluice-coins". It is not installed in FOLDER: run "npm install sluice-coins" there.',
    ],
    [
      'a plugin that imports what is not installed',
      {
        'sluice.config.json': '{ "plugins": ["./p/a.ts"] }',
        'p/a.ts': "import db from 'some-db';\nexport default db;",
      },
      '"./p/a.ts", plugins[0] of sluice.config.json, imports "some-db". It is not installed in FOLDER/p: run "npm install some-db" there.',
    ],
    [
      'an entry without a name',
      { 'sluice.config.json': '{ "plugins": [["./a.js", {}, 3]] }' },
      'plugins[0] of sluice.config.json does not name a module. Write "module", or ["module", { … its options }].',
    ],
    [
      'a module with several functions',
      { 'sluice.config.json': '{ "plugins": ["./a.js"] }', 'a.js': 'export function a() {}\nexport function b() {}' },
      'The module that "./a.js", plugins[0] of sluice.config.json, names exports several functions (a, b). Make the plugin\'s its default export.',
    ],
    [
      'a module without any',
      { 'sluice.config.json': '{ "plugins": ["./a.js"] }', 'a.js': 'export const a = 1;' },
      'The module that "./a.js", plugins[0] of sluice.config.json, names exports no plugin. It should export one, or a function that makes one.',
    ],
    [
      'a plugin that can not be made',
      {
        'sluice.config.json': '{ "plugins": ["./a.js"] }',
        'a.js': 'export default ({ path }) => { throw new Error(`path is ${path}`); };',
      },
      '"./a.js", plugins[0] of sluice.config.json, failed: path is undefined.',
    ],
    [
      'what is not a plugin',
      { 'sluice.config.js': 'export default { plugins: [{ name: "ok" }, { name: "a b\\u001b[31m" }] };' },
      'plugins[1] of sluice.config.js is not a plugin: its name must be a letter, then at most 63 letters, digits, "-" or "_".',
    ],
    [
      'a wrong import from TypeScript',
      {
        'sluice.config.ts': "import { nope } from './a.js';\nexport default { plugins: [nope] };",
        'a.ts': 'export const a = 1;',
      },
      'plugins[0] of sluice.config.ts is not a plugin: it is missing, and not an object.',
    ],
    [
      'a plugin that has the name of an API of ours',
      { 'sluice.config.js': 'export default { plugins: [{ name: "streams" }] };' },
      'A plugin of sluice.config.js is named "streams", as an API that sluice itself brings along. Rename it, or leave it out and set defaults.streamsUrl.',
    ],
    [
      'a plugin that is there twice',
      { 'sluice.config.js': 'export default { plugins: [{ name: "a" }, { name: "a" }] };' },
      'Two plugins of sluice.config.js are named "a". Use each once, and rename one of two that clash.',
    ],
    [
      'a plugin that needs another one',
      { 'sluice.config.js': 'export default { plugins: [{ name: "a", requires: ["b"] }] };' },
      'The plugin "a" requires "b", which this client does not have. Use it first, then "a".',
    ],
    [
      'a sink that two plugins bring along',
      {
        'sluice.config.js':
          'const sinks = { db: () => {} };\nexport default { plugins: [{ name: "a", sinks }, { name: "b", sinks }] };',
      },
      'The plugins "a" and "b" both provide a sink named "db". Use one of them only, or rename one of the two.',
    ],
  ])('%s', async (_, files, sentence) => {
    expect(await faultOf(files)).toBe(sentence);
  });

  test('a file that is named and is not there, or is none', async () => {
    expect(await faultOf({}, '--config', 'gone.js')).toBe('--config gone.js is not there. Give the path of a file.');
    expect(await faultOf({ 'conf.yaml': '' }, '--config', 'conf.yaml')).toBe(
      '--config "conf.yaml" is not a configuration: its name must end in .js, .mjs, .ts or .json.',
    );
    expect(await faultOf({ 'a.json/b': '' }, '--config', 'a.json')).toBe("a.json can't be read: it is a folder.");
  });

  test('a pipe, and a folder', async () => {
    const folder = configFolder({ 'a/sluice.config.js/b': '' });
    execFileSync('mkfifo', [join(folder, 'sluice.config.json')]);
    expect(await run(['sources'], folder)).toEqual({
      code: 2,
      stdout: '',
      stderr: "sluice: sluice.config.json can't be read: it is not a regular file, but a pipe or a device.\n",
    });
    expect(await run(['sources'], join(folder, 'a'))).toEqual({
      code: 2,
      stdout: '',
      stderr: "sluice: sluice.config.js can't be read: it is a folder.\n",
    });
  });

  test('a link that leads nowhere', async () => {
    const folder = configFolder({});
    symlinkSync('gone.js', join(folder, 'sluice.config.js'));
    const { code, stderr } = await run(['sources'], folder);
    expect({ code, stderr }).toEqual({ code: 2, stderr: "sluice: sluice.config.js can't be read: it is not there.\n" });
  });

  test.runIf(process.getuid?.() !== 0)('a file without permission', async () => {
    const folder = configFolder({ 'sluice.config.json': '{}' });
    chmodSync(join(folder, 'sluice.config.json'), 0);
    expect((await run(['sources'], folder)).stderr).toContain('there is no permission to read it');
  });

  test('a plugin that fails in its own code is no wrong usage: exit code 1', async () => {
    const failing = async (part: string) =>
      run(['sources'], configFolder({ 'sluice.config.js': `export default { plugins: [{ name: 'a', ${part} }] };` }));
    expect(await failing('setup() { throw new Error("no database"); }')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'sluice: The plugin "a" could not set up: no database.\n',
    });
    expect(await failing('dispose() { throw "gone"; }')).toMatchObject({
      code: 1,
      stderr: 'sluice: The plugin "a" could not be disposed of: gone.\n',
    });
  });
});

describe('a secret in a configuration is refused, and not repeated', () => {
  test.each<[string, Record<string, string>, string]>([
    ['the API key by its name', { 'sluice.config.json': `{ "apiKey": "${key}" }` }, 'SLUICE_API_KEY'],
    [
      'the API key by its name in the defaults',
      { 'sluice.config.js': `export default { defaults: { api_key: '${key}' } };` },
      'SLUICE_API_KEY',
    ],
    [
      'the API key by its value',
      { 'sluice.config.json': `{ "defaults": { "streamsUrl": "https://x.example/${key}" } }` },
      'SLUICE_API_KEY',
    ],
    [
      'a signing secret by its name',
      { 'sluice.config.json': '{ "defaults": { "webhookSecret": "abc" } }' },
      '--secret-file',
    ],
    [
      'a signing secret by its look',
      { 'sluice.config.js': `export default { defaults: { owner: 'whsec_${'a'.repeat(32)}' } };` },
      '--secret-file',
    ],
    [
      'a token for a plugin',
      { 'sluice.config.json': '{ "plugins": [["./a.js", { "deep": { "accessToken": "abc" } }]] }' },
      'environment',
    ],
  ])('%s', async (_, files, way) => {
    const sentence = await faultOf(files);
    expect(sentence).toContain(way);
    expect(sentence).not.toMatch(/whsec_a|abc/);
  });
});

test('sluice doctor tells of the configuration and its plugins, also where they can not be loaded', async () => {
  await using sandbox = await startSandbox();
  const folder = configFolder({
    'sluice.config.js': `export default { plugins: [
      { name: 'p', sinks: { db: () => {}, queue: () => {} }, stores: { kv: () => {} } }, { name: 'silent' },
    ], defaults: { rate: '25/s', concurrency: 4 } };`,
    'broken.json': '{ "plugins": ["./gone.js"] }',
    'wrong.json': '{ "defaults": { "rate": 5 } }',
    'unset.js': 'export default { plugins: [{ name: "p", setup() { throw new Error("no database"); } }] };',
  });
  const told = async (...args: string[]) => {
    const { code, stdout } = await run(['doctor', ...args], folder, settingsFor(sandbox));
    return { code, lines: stdout.split('\n').filter((line) => / {2}(config|plugins?) {2}/.test(line)) };
  };
  expect(await told()).toEqual({
    code: 0,
    lines: [
      'ok    config       sluice.config.js, with defaults for rate, concurrency',
      'ok    plugin       p: sinks db, queue; stores kv',
      'ok    plugin       silent',
    ],
  });
  const gone = join(folder, 'gone.js');
  expect(await told('--config', 'broken.json')).toEqual({
    code: 1,
    lines: [`fail  config       "./gone.js", plugins[0] of broken.json, is not there: there is no file ${gone}.`],
  });
  expect(await told('--config', 'wrong.json')).toEqual({
    code: 1,
    lines: [expect.stringMatching(/^fail {2}config {7}defaults\.rate of wrong\.json is 5\. Give requests per second/)],
  });
  expect(await told('--config', 'unset.js')).toEqual({
    code: 1,
    lines: ['ok    config       unset.js', 'fail  plugins      The plugin "p" could not set up: no database.'],
  });
  expect(await told('--no-config')).toEqual({ code: 0, lines: ['ok    config       none in use'] });
});
