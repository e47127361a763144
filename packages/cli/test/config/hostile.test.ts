// @module-tag slow
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { settingsFor, startSluice } from '../runSluice.js';
import { listenTo } from '../watching.js';
import { configFolder } from './configFolder.js';

/** Starts `sluice sources` in a folder with this configuration. */
const started = (text: string) =>
  startSluice(['sources'], { cwd: configFolder({ 'sluice.config.js': text, 'other.js': text }) });

describe('a configuration that does what it likes', () => {
  test.each([
    ['ends the process', 'process.exit(0)', 'sluice.config.js ended the process, so nothing was done.'],
    ['waits for ever', 'await new Promise(() => {});', 'sluice.config.js waits for something that never happens.'],
    [
      'fails where nobody waits',
      'setTimeout(() => { throw new Error("later"); }); await new Promise((resolve) => setTimeout(resolve, 10_000));',
      'sluice.config.js failed while it was loaded: later. SLUICE_DEBUG=1 shows where.',
    ],
  ])('and %s is told of, with exit code 2', async (_, text, sentence) => {
    expect(await started(text).ended).toEqual({ code: 2, stdout: '', stderr: `sluice: ${sentence}\n` });
  });

  test('and has a fault in its syntax is told where', async () => {
    const { code, stdout, stderr } = await started('export default {\n  plugins: [foo bar],\n};').ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(
      /^sluice: sluice\.config\.js failed while it was loaded: \S.* To see where, run that file with node\.\n$/,
    );
  });

  test('and is a module in a folder of CommonJS is told what to do', async () => {
    const files = { 'package.json': '{ "type": "commonjs" }', 'sluice.config.js': 'export default {};' };
    const { code, stdout, stderr } = await startSluice(['sources'], { cwd: configFolder(files) }).ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    // Node itself warns above it.
    expect(stderr).toMatch(
      /^sluice: sluice\.config\.js failed .* Node reads that file as CommonJS: run "npm pkg set type=module" in its folder, or /m,
    );
  });

  test('and never ends can be ended by a signal', async () => {
    const { process, ended } = started('console.error("looping"); for (;;);');
    await listenTo(process.stderr).until(/looping/);
    process.kill('SIGINT');
    expect(await ended).toMatchObject({ code: null, stdout: '' });
    expect(process.signalCode).toBe('SIGINT');
  });

  test('and prints leaves stdout to the data; what it leaves open keeps nobody waiting', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const cwd = configFolder({
      'sluice.config.js': `
        console.log('loaded'); setInterval(() => {}, 1000);
        export default { plugins: [{ name: 'p', hooks: { page: () => { console.log('page'); console.table([1]); } } }] };`,
    });
    const args = ['streams', 'export', '--to', '-', '--columns', 'id', '--format', 'jsonl', '--quiet'];
    const { code, stdout, stderr } = await startSluice(args, { cwd, env: settingsFor(sandbox) }).ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^(\{"id":[^\n]*\}\n){3}$/);
    expect(stderr).toMatch(/^loaded\npage\n/);
  });
});

test.each([
  ['ends the process', 'process.exit(0)', 'ended the process before the command was done.'],
  ['fails where nobody waits', 'setTimeout(() => { throw new Error("x"); })', 'failed outside of its hooks: x.'],
])('a plugin that %s while it works gives exit code 1 and a sentence', async (_, code, sentence) => {
  await using sandbox = await startSandbox({ streams: 3 });
  const cwd = configFolder({
    'sluice.config.js': `export default { plugins: [{ name: 'p', hooks: { page() { ${code}; } } }] };`,
  });
  const args = ['streams', 'export', '--to', 'e.csv', '--quiet'];
  expect(await startSluice(args, { cwd, env: settingsFor(sandbox) }).ended).toEqual({
    code: 1,
    stdout: '',
    // How far the export has come by then, and so what is said of its rows, is not certain.
    stderr: expect.stringMatching(new RegExp(`^sluice: A plugin of sluice\\.config\\.js ${sentence}[^\n]*\n$`)),
  });
});

test.each([
  ['a configuration', 2, '', 'sluice.config.js failed while it was loaded: first. SLUICE_DEBUG=1 shows where.'],
  ['a plugin', 1, "export default { plugins: [{ name: 'p', setup() {", 'The plugin "p" could not set up: first.'],
])('T2 %s that fails twice at once is told of once, without a key', async (_, code, before, sentence) => {
  await using sandbox = await startSandbox({ streams: 3 });
  const twice = 'Promise.reject(new Error(`second ${process.env.SLUICE_API_KEY}`)); throw new Error("first");';
  const cwd = configFolder({ 'sluice.config.js': before === '' ? twice : `${before} ${twice} } }] };` });
  expect(await startSluice(['streams', 'list'], { cwd, env: settingsFor(sandbox) }).ended).toEqual({
    code,
    stdout: '',
    stderr: `sluice: ${sentence}\n`,
  });
});

test('a second signal does not wait for a plugin that can not be disposed of', async () => {
  await using sandbox = await startSandbox({ streams: 3000, latency: 20 });
  const cwd = configFolder({
    'sluice.config.js': `
      import { writeFileSync } from 'node:fs';
      export default { plugins: [{ name: 'p', dispose: () => { console.error('disposing'); return new Promise(() => {}); } }] };`,
  });
  const args = ['streams', 'export', '--to', 'out.csv', '--rate', 'unlimited'];
  const { process, ended } = startSluice(args, { cwd, env: settingsFor(sandbox) });
  await sandbox.until(() => sandbox.counts.requests > 3);
  process.kill('SIGINT');
  await listenTo(process.stderr).until(/disposing/);
  // Another signal, since the same one within a second counts once. Had it waited, the first one's code would come.
  process.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 143 });
});
