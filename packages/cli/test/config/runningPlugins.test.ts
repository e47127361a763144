import { EventEmitter, once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { runningPluginsIn } from '../../src/environment/untrustedCode.js';
import { Interruption } from '../../src/errors/errors.js';
import { main } from '../../src/program.js';
import { settingsFor } from '../runSluice.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { testEnvironment } from '../testEnvironment.js';
import { configFolder } from './configFolder.js';

/** Stands in for a process: its events are emitted by the test, and what is written to its stderr is kept in a file. */
function fakeProcess() {
  const path = join(temporaryFolder(), 'stderr');
  const fd = openSync(path, 'w');
  onTestFinished(() => {
    closeSync(fd);
  });
  const process = Object.assign(new EventEmitter(), { stderr: { fd, isTTY: false }, exitCode: undefined });
  return {
    process,
    runningPlugins: runningPluginsIn(process as unknown as NodeJS.Process),
    stderr: () => readFileSync(path, 'utf8'),
  };
}

const file = 'sluice.config.js';
const untilAborted = async (signal: AbortSignal): Promise<never> => {
  if (!signal.aborted) await once(signal, 'abort');
  throw signal.reason;
};

test.each<[string, unknown, string]>([
  ['uncaughtException', new Error('x'), 'x.'],
  ['unhandledRejection', 'late', 'late.'],
])(
  'an %s of a plugin closes the export, and is told in a sentence',
  { tags: ['slow'] },
  async (event, thrown, text) => {
    await using sandbox = await startSandbox({ holdings: 3000, latency: 2 });
    const folder = configFolder({ [file]: 'export default { plugins: [{ name: "p" }] };' });
    const { process, runningPlugins } = fakeProcess();
    const environment = { ...testEnvironment({ folder, variables: settingsFor(sandbox) }), runningPlugins };
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'e.csv', '--rate', 'unlimited'];
    const ended = main([...args, '--commit-every', '2'], environment);
    await sandbox.until(() => sandbox.counts.requests > 8);
    process.emit(event, thrown);
    expect(await ended).toBe(1);
    expect(environment.written.stderr()).toMatch(
      new RegExp(
        `^sluice: A plugin of ${file} failed outside of its hooks: ${text} \\d[\\d,]* rows committed; run the same command to resume\\.$`,
        'm',
      ),
    );
    expect(environment.written.stderr()).not.toMatch(/ {4}at /);
    expect([existsSync(join(folder, 'e.csv')), existsSync(join(folder, 'e.csv.part'))]).toEqual([false, true]);
    // What a plugin still throws must not end the process while it reports the first error.
    expect(process.eventNames()).toEqual(['uncaughtException', 'unhandledRejection']);
  },
);

test('a command that was done nevertheless does not look like one that was right', async () => {
  const { process, runningPlugins } = fakeProcess();
  const ended = runningPlugins(file, new AbortController().signal, () => {
    process.emit('uncaughtException', new Error('x'));
    return Promise.resolve(0);
  });
  await expect(ended).rejects.toThrow(`A plugin of ${file} failed outside of its hooks: x.`);
});

test('a process that a plugin ends exits with 1, and says why', async () => {
  const { process, runningPlugins, stderr } = fakeProcess();
  await runningPlugins(file, new AbortController().signal, async () => {
    process.emit('exit', 0);
    return Promise.resolve();
  });
  expect(process.exitCode).toBe(1);
  expect(stderr()).toBe(`sluice: A plugin of ${file} ended the process before the command was done.\n`);
  process.emit('exit', 0);
  expect(stderr().match(/\n/g)).toHaveLength(1);
});

test('a signal ends the command as ever, and a second one the process', async () => {
  const { process, runningPlugins, stderr } = fakeProcess();
  const controller = new AbortController();
  const ended = runningPlugins(file, controller.signal, untilAborted);
  controller.abort(new Interruption('SIGINT'));
  process.emit('exit', 130);
  expect({ exitCode: process.exitCode, stderr: stderr() }).toEqual({ exitCode: undefined, stderr: '' });
  process.emit('exit', 0);
  expect(process.exitCode).toBe(1);
  await expect(ended).rejects.toBe(controller.signal.reason);
  await expect(runningPlugins(file, controller.signal, untilAborted)).rejects.toBe(controller.signal.reason);
});

test('a plugin that waits for ever ends the command, whether it stops when told to or not', async () => {
  const { process, runningPlugins } = fakeProcess();
  const sentence = `A plugin of ${file} waits for something that never happens.`;
  const stopping = runningPlugins(file, new AbortController().signal, untilAborted);
  process.emit('beforeExit', 0);
  await expect(stopping).rejects.toThrow(sentence);
  const stuck = runningPlugins(file, new AbortController().signal, () => new Promise(() => undefined));
  process.emit('beforeExit', 0);
  process.emit('beforeExit', 0);
  await expect(stuck).rejects.toThrow(sentence);
});
