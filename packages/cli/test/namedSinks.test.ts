import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { configFolder, run, type Ran } from './config/configFolder.js';
import { journal } from './journal.js';
import { changesInFile, watchArgs } from './watching.js';
import { readTable } from './readTable.js';
import { settingsFor } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';

const broken = (factory: string): string => `export default { plugins: [{ name: 'p', sinks: { db: ${factory} } }] };`;

function exportArgs({ owners }: Pick<Sandbox, 'owners'>, to: string, ...more: string[]): string[] {
  return ['nfts', 'export', '--owner', ...owners, '--to', to, '--rate', 'unlimited', ...more];
}

/** Runs a command in this process, and stops it as a signal does when the sandbox has got so many more requests. */
async function interrupted(sandbox: Sandbox, args: readonly string[], folder: string, after: number): Promise<Ran> {
  const environment = testEnvironment({ folder, variables: settingsFor(sandbox) });
  const before = sandbox.counts.requests;
  const ended = main(args, environment);
  await Promise.race([sandbox.until(() => sandbox.counts.requests >= before + after), ended]);
  environment.interrupt(new Interruption('SIGINT'));
  const code = await ended;
  return { code, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}

function rowsIn(folder: string, file: string): unknown[] {
  const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
  return lines.map((line): unknown => JSON.parse(line));
}

describe("--to NAME:TARGET reaches a plugin's sink", () => {
  test('whose warnings an export and a watch print', async () => {
    await using sandbox = await startSandbox({ holdings: 3, streams: 3 });
    const warning = journal.replace('restart }) {', "restart, warn }) { warn('mind this');");
    for (const args of [exportArgs(sandbox, 'journal:a.jsonl'), watchArgs('--polls', '1', '--to', 'journal:b.jsonl')]) {
      const folder = configFolder({ 'sluice.config.js': warning });
      const { code, stderr } = await run(args, folder, settingsFor(sandbox));
      expect({ code, warnings: stderr.match(/^.*mind this.*$/gm) }).toEqual({
        code: 0,
        warnings: ['sluice: mind this'],
      });
    }
  });

  test('and rows, the last line and the events name it', async () => {
    await using sandbox = await startSandbox({ holdings: 250 });
    const folder = configFolder({ 'sluice.config.js': journal });
    const { code, stdout, stderr } = await run(exportArgs(sandbox, 'journal:rows.jsonl'), folder, settingsFor(sandbox));
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(
        /^Writing to journal:rows\.jsonl\. Its state is kept in journal\.rows\.jsonl\.sluice\.\n250 rows in \d pages -> journal:rows\.jsonl \([^)]+\)\n$/,
      ),
    });
    expect(rowsIn(folder, 'rows.jsonl')).toHaveLength(250);
    expect(existsSync(join(folder, 'journal.rows.jsonl.sluice'))).toBe(false);

    const args = exportArgs(sandbox, 'journal:more.jsonl', '--progress', 'json');
    const events = (await run(args, folder, settingsFor(sandbox))).stderr.trimEnd().split('\n');
    expect(JSON.parse(events[0]!)).toEqual({
      event: 'start',
      source: 'aptos.nfts',
      target: 'journal:more.jsonl',
      format: 'journal',
      state: 'journal.more.jsonl.sluice',
    });
    expect(JSON.parse(events.at(-1)!)).toMatchObject({ event: 'report', target: 'journal:more.jsonl', rows: 250 });
  });

  test(
    'E1 after an interruption the printed command goes on, and checkpoint show explains what is kept',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 3000, latency: 2 });
      const folder = configFolder({ 'sluice.config.js': journal });
      const args = exportArgs(sandbox, 'journal:rows.jsonl', '--commit-every', '2', '--restart');
      const { code, stderr } = await interrupted(sandbox, args, folder, 12);
      expect(code).toBe(130);
      const command = args.filter((arg) => arg !== '--restart').join(' ');
      expect(stderr).toMatch(/\nsluice: Stopped by SIGINT\. [\d,]+ rows committed\. Resume with:\n/);
      expect(stderr.trimEnd().endsWith(`  sluice ${command}`)).toBe(true);

      const shown = await run(['checkpoint', 'show', 'journal:rows.jsonl'], folder);
      expect(shown.stdout).toMatch(
        /^target {4}journal:rows\.jsonl\nsource {4}aptos\.nfts\nmade .*\ncommand .*\nkept {6}[\d,]+ rows in \d+ pages\n/,
      );
      expect(shown.stdout).not.toContain('damaged');
      const json = (name: string) => run(['checkpoint', 'show', name, '--format', 'json'], folder);
      expect(await json('journal.rows.jsonl.sluice')).toEqual(await json('journal:rows.jsonl'));

      const resumed = await run(command.split(' '), folder, settingsFor(sandbox));
      expect(resumed).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/\nResuming after [\d,]+ rows \(\d+ pages\)/),
      });
      await run(exportArgs(sandbox, 'whole.jsonl'), folder, settingsFor(sandbox));
      const whole = rowsIn(folder, 'whole.jsonl');
      expect(whole).toHaveLength(3000);
      expect(rowsIn(folder, 'rows.jsonl')).toEqual(whole);
      expect((await readdir(folder)).filter((name) => name.endsWith('.sluice'))).toEqual(['whole.jsonl.sluice']);
    },
  );

  test(
    'D1 a sink of a plugin that keeps its own checkpoints has them in its target, and takes no other state',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 3000, latency: 2 });
      const plugin = fileURLToPath(new URL('../../../examples/plugins/sqlite.ts', import.meta.url));
      const folder = configFolder({ 'sluice.config.json': JSON.stringify({ plugins: [plugin] }) });
      const args = exportArgs(sandbox, 'sqlite:rows.db', '--commit-every', '2');
      const refused = await run([...args, '--state', 'elsewhere'], folder, settingsFor(sandbox));
      expect(refused).toMatchObject({
        code: 2,
        stderr: 'sluice: --state is for state in a folder, and this target keeps its own checkpoints.\n',
      });
      const { code, stderr } = await interrupted(sandbox, args, folder, 12);
      expect(code).toBe(130);
      expect(stderr).not.toContain('Its state is kept');
      const resumed = await run(args, folder, settingsFor(sandbox));
      expect(resumed).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Resuming after [\d,]+ rows/) });
      await run(exportArgs(sandbox, 'whole.jsonl'), folder, settingsFor(sandbox));
      expect(readTable(join(folder, 'rows.db'), 'SELECT * FROM rows')).toHaveLength(
        rowsIn(folder, 'whole.jsonl').length,
      );
      const places = (await readdir(folder)).filter((name) => /\.(sluice|lock)$/.test(name));
      expect(places).toEqual(['whole.jsonl.sluice']);
    },
  );

  test('E1 a sink that returns no position resumes with null', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 2 });
    const plain = `
      import { appendFileSync } from 'node:fs';
      import { join } from 'node:path';
      const sink = (target, { folder }) => ({
        name: 'plain', identity: null, delivery: 'at-least-once',
        async open({ resumeAt }) {
          appendFileSync(join(folder, target), JSON.stringify([resumeAt?.sinkPosition]) + '\\n');
          return { async write() {}, async flush() {}, async seal() {}, close: async () => ({ target }), async abort() {} };
        },
      });
      export default { plugins: [{ name: 'plain', sinks: { plain: sink } }] };
    `;
    const folder = configFolder({ 'sluice.config.js': plain });
    const args = exportArgs(sandbox, 'plain:opened.jsonl', '--state', 'mine', '--commit-every', '2');
    await interrupted(sandbox, args, folder, 12);
    const shown = await run(['checkpoint', 'show', 'mine'], folder);
    expect(shown.stdout).toMatch(/^target {4}plain:opened\.jsonl\n/);
    expect(await run(args, folder, settingsFor(sandbox))).toMatchObject({ code: 0 });
    // JSON has null for the undefined of the first run, too, which has no resumeAt.
    expect(rowsIn(folder, 'opened.jsonl')).toEqual([[null], [null]]);
  });

  test('E4 a state is refused to another target, and --restart starts over', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 2 });
    const folder = configFolder({ 'sluice.config.js': journal });
    const state = ['--state', 'mine', '--commit-every', '2'];
    await interrupted(sandbox, exportArgs(sandbox, 'journal:a.jsonl', ...state), folder, 12);
    const other = await run(exportArgs(sandbox, 'journal:b.jsonl', ...state), folder, settingsFor(sandbox));
    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was written with different settings (--to)'),
    });
    expect(existsSync(join(folder, 'b.jsonl'))).toBe(false);
    const another = await run(['streams', 'export', '--to', 'journal:a.jsonl', ...state], folder, settingsFor(sandbox));
    expect(another.stderr).toMatch(
      / nothing was changed\. If it is that of another export or watch into the same target: --state DIR gives this one a state of its own\.\n$/,
    );
    const again = await run(
      exportArgs(sandbox, 'journal:b.jsonl', ...state, '--restart'),
      folder,
      settingsFor(sandbox),
    );
    expect(again.code).toBe(0);
    expect(rowsIn(folder, 'b.jsonl')).toHaveLength(3000);
  });

  test("--state NAME:TARGET keeps it in a plugin's store", { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 2 });
    const folder = configFolder({ 'sluice.config.js': journal });
    const args = exportArgs(sandbox, 'journal:rows.jsonl', '--state', 'kept:state.json', '--commit-every', '2');
    const { stderr } = await interrupted(sandbox, args, folder, 12);
    expect(stderr).toContain('Its state is kept in kept:state.json.');
    const shown = await run(['checkpoint', 'show', 'kept:state.json'], folder);
    expect(shown.stdout).toMatch(/^target {4}journal:rows\.jsonl\nsource {4}aptos\.nfts\nmade .*\ncommand .*\nkept /);
    expect((await run(args, folder, settingsFor(sandbox))).code).toBe(0);
    expect(rowsIn(folder, 'rows.jsonl')).toHaveLength(3000);
    expect((await run([...args, '--break-lock'], folder, settingsFor(sandbox))).stderr).toBe(
      'sluice: --break-lock is for state in a folder, and kept:state.json is not one.\n',
    );
  });

  test.each([
    ['a folder', []],
    ["a plugin's store", ['--state', 'kept:known.json']],
  ])('changes of a watch go there too, each once, with their state in %s', { tags: ['slow'] }, async (_, state) => {
    await using sandbox = await startSandbox({ streams: 5 });
    const folder = configFolder({ 'sluice.config.js': journal });
    const args = watchArgs('--to', 'journal:changes.jsonl', '--polls', '2', ...state);
    for (const status of ['first', 'second']) {
      const { code, stderr } = await run(args, folder, settingsFor(sandbox));
      expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('-> journal:changes.jsonl') });
      sandbox.setStream(0, { status });
    }
    expect((await run(args, folder, settingsFor(sandbox))).code).toBe(0);
    const types = changesInFile(join(folder, 'changes.jsonl')).map(({ type }) => type);
    expect(types).toEqual([...Array<string>(5).fill('initial'), 'changed', 'changed']);
    expect(existsSync(join(folder, 'journal.changes.jsonl.sluice'))).toBe(state.length === 0);
  });

  test('options of files are refused, and a path stays a path', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const folder = configFolder({ 'sluice.config.js': journal });
    for (const option of [
      ['--columns', 'name'],
      ['--gzip'],
      ['--if-exists', 'overwrite'],
      ['--no-guard-formulas'],
      ['--format', 'csv'],
    ])
      expect(await run(exportArgs(sandbox, 'journal:x', ...option), folder, settingsFor(sandbox))).toEqual({
        code: 2,
        stdout: '',
        stderr: `sluice: ${option[0]!} goes with a file: the sink "journal" is given each row as a whole.\n`,
      });
    const within = exportArgs(sandbox, 'journal:x', '--resume-within', '2d', '--quiet');
    expect(await run(within, folder, settingsFor(sandbox))).toMatchObject({ code: 0 });
    const defaults = `defaults: { resumeWithin: '2d' }, plugins`;
    const other = configFolder({ 'sluice.config.js': journal.replace('default { plugins', `default { ${defaults}`) });
    expect(await run(exportArgs(sandbox, 'journal:x', '--quiet'), other, settingsFor(sandbox))).toMatchObject({
      code: 0,
    });
    expect((await run(exportArgs(sandbox, 'jornal:x'), folder, settingsFor(sandbox))).stderr).toBe(
      'sluice: There is no sink "jornal" for --to jornal:x. Did you mean journal? If it is a file, write ./ in front of it.\n',
    );
    expect(await run(exportArgs(sandbox, 'journal:'), folder, settingsFor(sandbox))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^sluice: --to journal: has no target\. /),
    });
    expect(await run(exportArgs(sandbox, 'https://a.example/x.csv'), folder, settingsFor(sandbox))).toMatchObject({
      code: 2,
      stderr: 'sluice: --to does not take an address. To post to one, give --forward URL.\n',
    });
    expect(await run(exportArgs(sandbox, 'journal', '--format', 'jsonl'), folder, settingsFor(sandbox))).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'sluice: --to journal names the sink "journal" and no target: write journal:TARGET. If it is a file, write ./journal.\n',
    });
    expect((await run(exportArgs(sandbox, './journal', '--format', 'jsonl'), folder, settingsFor(sandbox))).code).toBe(
      0,
    );
    expect(rowsIn(folder, 'journal')).toHaveLength(10);
    for (const path of ['./journal:x.csv', 'C:\\x.csv', './other:x.csv']) {
      expect(await run(exportArgs(sandbox, path), folder, settingsFor(sandbox))).toMatchObject({ code: 0 });
      expect(existsSync(join(folder, path))).toBe(true);
    }
    expect((await run(exportArgs(sandbox, 'other:x.csv'), folder, settingsFor(sandbox))).stderr).toBe(
      'sluice: There is no sink "other" for --to other:x.csv. Available: journal. If it is a file, write ./ in front of it.\n',
    );
  });
});

describe("a plugin's sink that fails", () => {
  test.each<[string, string, number, RegExp]>([
    ['is none', '() => 5', 2, /The sink "db" of the plugin "p" is invalid: its function has to return a sink\./],
    [
      'can not be made',
      '() => { throw new Error("no driver"); }',
      1,
      /The sink "db" of the plugin "p" could not be created: no driver\.$/m,
    ],
    [
      'rejects with no error',
      '() => ({ name: "db", identity: null, promises: "at-least-once", open: () => Promise.reject("locked") })',
      1,
      /The sink db failed in open: locked\.$/m,
    ],
    [
      'rejects with nothing',
      '() => ({ name: "db", identity: null, promises: "at-least-once", open: () => Promise.reject() })',
      1,
      /The sink db failed in open: undefined\.$/m,
    ],
    [
      'fails in the middle',
      `() => ({ name: 'db', identity: null, delivery: 'at-least-once', open: async () => { let rows = 0; return {
        write: async ({ items }) => { if ((rows += items.length) > 500) throw new TypeError('disk\\u001b[31m on\\nfire'); },
        flush: async () => rows, seal: async () => rows, close: async () => ({ target: 'db' }), abort: async () => { throw 'worse'; } }; } })`,
      1,
      /The sink db failed in write: disk␛\[31m on fire\. \d+ rows committed; run the same command to resume\.$/m,
    ],
  ])('because it %s ends the export in a sentence', async (_, factory, code, sentence) => {
    await using sandbox = await startSandbox({ holdings: 1000 });
    const folder = configFolder({ 'sluice.config.js': broken(factory) });
    const ran = await run(exportArgs(sandbox, 'db:x', '--commit-every', '1'), folder, settingsFor(sandbox));
    expect(ran).toEqual({ code, stdout: '', stderr: expect.stringMatching(sentence) });
    expect(ran.stderr).not.toMatch(/ {4}at /);
  });
});

describe("a plugin's store that fails", () => {
  test.each([
    ['load', 'locked', 'locked'],
    ['lock', 'no server', 'no server'],
    ['save', '', 'Error'],
  ])('in %s is named once, in an export and in a watch', async (method, thrown, said) => {
    await using sandbox = await startSandbox({ holdings: 10, streams: 2, nasty: 0 });
    const failing = `return { ...store(target, folder), ${method}: async () => { throw new Error(${JSON.stringify(thrown)}); } };`;
    const folder = configFolder({
      'sluice.config.js': journal
        .replace('const store = ', 'const whole = ')
        .replace(
          'export default',
          `const store = (target, folder) => { ${failing.replace('store(', 'whole(')} };\nexport default`,
        ),
    });
    const env = settingsFor(sandbox);
    const sentence = `The store "kept" failed in ${method}: ${said}.`;
    const exported = await run(exportArgs(sandbox, 'journal:x', '--state', 'kept:s'), folder, env);
    expect(exported).toMatchObject({ code: 1, stderr: expect.stringContaining(sentence) });
    expect(exported.stderr.split(said)).toHaveLength(2);
    if (method !== 'lock') return;
    const watched = await run(['streams', 'watch', '--polls', '1', '--state', 'kept:w'], folder, env);
    expect(watched).toMatchObject({ code: 1, stderr: expect.stringContaining(sentence) });
  });
});

describe('plugins on the command line', () => {
  test('G4 hooks that throw are told once each, and lose no rows; links, logs and dispose work', async () => {
    await using sandbox = await startSandbox({ holdings: 500 });
    const folder = configFolder({
      'sluice.config.js': `
        import { writeFileSync } from 'node:fs';
        let pages = 0;
        export default { plugins: [{
          name: 'watcher',
          setup: ({ logger }) => { logger.info('here\\u001b[31m'); logger.warn('careful'); return {}; },
          hooks: { page: () => { pages += 1; throw new Error('broken hook'); }, response: async () => { throw 'too'; } },
          links: [(next) => (request) => next({ ...request, query: { ...request.query, extra: 'yes' } })],
          dispose: () => writeFileSync(new URL('pages.txt', import.meta.url), String(pages)),
        }] };`,
    });
    const { code, stderr } = await run(exportArgs(sandbox, 'out.jsonl'), folder, settingsFor(sandbox));
    expect({ code, lines: stderr.trimEnd().split('\n').slice(0, -1).toSorted() }).toEqual({
      code: 0,
      lines: [
        'sluice: The plugin "watcher" fails in its hook "page", which changes nothing else: broken hook.',
        'sluice: The plugin "watcher" fails in its hook "response", which changes nothing else: too.',
        'sluice: careful',
        'watcher: here␛[31m',
      ],
    });
    expect(rowsIn(folder, 'out.jsonl')).toHaveLength(500);
    expect(readFileSync(join(folder, 'pages.txt'), 'utf8')).toBe('5');
    expect(sandbox.requests.every(({ query }) => query.includes('extra=yes'))).toBe(true);
  });

  test('G2 are disposed of after an interruption and after a failure too, the last one first', async () => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 2 });
    const noted = (name: string): string =>
      `{ name: '${name}', dispose: () => appendFileSync(new URL('order.txt', import.meta.url), '${name} ') }`;
    const folder = configFolder({
      'sluice.config.js': `import { appendFileSync } from 'node:fs'; export default { plugins: [${noted('one')}, ${noted('two')}] };`,
    });
    expect((await interrupted(sandbox, exportArgs(sandbox, 'out.csv'), folder, 5)).code).toBe(130);
    writeFileSync(join(folder, 'out.csv'), 'somebody else');
    expect((await run(exportArgs(sandbox, 'out.csv', '--restart'), folder, settingsFor(sandbox))).code).toBe(1);
    expect(readFileSync(join(folder, 'order.txt'), 'utf8')).toBe('two one two one ');
  });

  test('may require an API of the command line itself, whose address is needed then', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const folder = configFolder({
      'sluice.config.js': `export default { plugins: [{ name: 'p', requires: ['streams'], setup: (_, { streams }) => ({ all: streams.list }) }] };`,
    });
    const { SLUICE_STREAMS_URL, ...others } = settingsFor(sandbox);
    expect((await run(exportArgs(sandbox, 'a.csv'), folder, settingsFor(sandbox))).code).toBe(0);
    expect(SLUICE_STREAMS_URL).toBeDefined();
    expect(await run(exportArgs(sandbox, 'b.csv'), folder, others)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The base URL of the streams API is not set.'),
    });
  });

  test('a default that the library refuses is told with its place', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const folder = configFolder({ 'sluice.config.json': '{ "defaults": { "pageSize": 0 } }' });
    expect(await run(exportArgs(sandbox, 'a.csv'), folder, settingsFor(sandbox))).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'sluice: --page-size is 0: it must be a whole number of at least 1. It stands in defaults.pageSize of sluice.config.json.\n',
    });
  });
});
