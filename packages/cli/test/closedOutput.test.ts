// @module-tag slow
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { someOf } from '../../../scripts/testEffort.js';
import { bash, settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const isLinux = process.platform === 'linux';
const fast = ['--rate', 'unlimited'];
const owner = ['--owner', '0x1'];
const closed =
  'sluice: stdout is closed, or is /dev/null opened for reading too, which looks the same: nobody would get the output. Give it a reader or a file. To throw the output away, open /dev/null for writing only, as > /dev/null in a shell does.\n';

/** Each command whose output is data. */
const commands: readonly (readonly [string, string[]])[] = [
  ['nfts export', ['nfts', 'export', '--to', '-', ...owner, ...fast]],
  ['nfts export, compressed', ['nfts', 'export', '--to', '-', '--gzip', ...owner, ...fast]],
  ['nfts watch', ['nfts', 'watch', '--polls', '1', ...owner, ...fast]],
  ['streams list', ['streams', 'list', ...fast]],
  ['streams list as a table', ['streams', 'list', '--format', 'table', ...fast]],
  ['streams export', ['streams', 'export', '--to', '-', ...fast]],
  ['streams watch', ['streams', 'watch', '--polls', '1', ...fast]],
  ['export', ['export', 'streams.list', '--to', '-', ...fast]],
  ['watch', ['watch', 'streams.list', '--polls', '1', ...fast]],
  ['sources', ['sources']],
  ['checkpoint show', ['checkpoint', 'show', 'done.csv']],
  ['dlq show', ['dlq', 'show', 'dead.jsonl']],
];

/** A folder with what a command shows. */
async function folderFor([command]: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const cwd = temporaryFolder();
  if (command === 'checkpoint') await sluice(['streams', 'export', '--to', 'done.csv', ...fast], { env, cwd });
  if (command === 'dlq') writeFileSync(join(cwd, 'dead.jsonl'), '');
  return cwd;
}

describe.runIf(isLinux)('E9 a stdout that is closed', () => {
  test.each(someOf(commands, 1))('%s: one sentence, exit code 1, and nothing was asked for', async (_, args) => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const env = settingsFor(sandbox);
    const cwd = await folderFor(args, env);
    const before = sandbox.counts.requests;
    expect(await bash('"$@" >&-', args, { env, cwd })).toEqual({ code: 1, stdout: '', stderr: closed });
    expect(sandbox.counts.requests).toBe(before);
  });

  test('is not told from the /dev/null of a program that opens it for reading too, which is refused alike', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const before = sandbox.counts.requests;
    // As Python's subprocess.DEVNULL and Node's `stdio: 'ignore'` give it.
    expect(await bash('"$@" 1<> /dev/null', ['streams', 'list', ...fast], options)).toEqual({
      code: 1,
      stdout: '',
      stderr: closed,
    });
    expect(sandbox.counts.requests).toBe(before);
    // Opened for writing only, and its other descriptors may be any.
    expect((await bash('"$@" > /dev/null 0<> /dev/null', ['streams', 'list', ...fast], options)).code).toBe(0);
    const file = ['streams', 'export', '--to', 'out.csv', ...fast];
    expect((await bash('"$@" 1<> /dev/null', file, options)).code).toBe(0);
  });

  test('is no fault of a command that writes a file, or whose exit code says all', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    expect((await bash('"$@" >&-', ['streams', 'export', '--to', 'out.csv', ...fast], options)).code).toBe(0);
    expect((await bash('"$@" >&-', ['doctor'], options)).code).toBe(0);
  });
});

describe.runIf(isLinux)('E9 a device that is full behind stdout', () => {
  test.each(someOf([...commands, ['version', ['--version']] as const]))(
    '%s: one sentence, and exit code 1',
    async (_, args) => {
      await using sandbox = await startSandbox({ holdings: 10 });
      const env = settingsFor(sandbox);
      const cwd = await folderFor(args, env);
      const all = args[1] === 'watch' && args[0] === 'nfts' ? [...args, '--owner', ...sandbox.owners] : args;
      const { code, stderr } = await bash('"$@" > /dev/full', all, { env, cwd });
      expect({ code, last: stderr.split('\n').at(-2) }).toEqual({
        code: 1,
        last: "sluice: The output can't be written (ENOSPC): the disk is full. Make room, then run it again.",
      });
    },
  );
});

test('E9 a file behind stdout that takes a part of the last rows only is a fault', async () => {
  await using sandbox = await startSandbox({ holdings: 100, owners: 1 });
  const cwd = temporaryFolder();
  const args = ['nfts', 'export', '--to', '-', '--owner', ...sandbox.owners, ...fast];
  const { code, stderr } = await bash('ulimit -f 8; exec "$@" > out.csv', args, { env: settingsFor(sandbox), cwd });
  expect(readFileSync(join(cwd, 'out.csv')).length).toBe(8 * 1024);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^sluice: The output can't be written \(EFBIG\)/),
  });
});

test.each([
  ['rows', ['nfts', 'export', '--to', '-', ...fast]],
  ['a list', ['streams', 'list', ...fast]],
  ['changes', ['streams', 'watch', '--polls', '1', ...fast]],
])('E9 a reader that is gone before %s come gives the exit code of SIGPIPE, and no word', async (_, args) => {
  await using sandbox = await startSandbox({ holdings: 10 });
  const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
  const all = args[0] === 'nfts' ? [...args, '--owner', ...sandbox.owners] : args;
  // The reader is gone before the command begins: it waits for the pipe's other end to be closed.
  const line = '{ read -r; "$@" --quiet; echo "$?" > code; } < <(sleep 0; echo) | exec true; cat code';
  const { stdout, stderr } = await bash(line, all, options);
  expect({ stdout, stderr }).toEqual({ stdout: '141\n', stderr: '' });
});
