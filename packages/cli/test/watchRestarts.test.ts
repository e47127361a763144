// @module-tag slow
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { filesIn } from './interruptedExport.js';
import { settingsFor, sluice, startSluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { brokenLinks, changesIn, changesInFile, folded, listed, listenTo, polled, watchArgs } from './watching.js';

describe('C4 a watch that is started again and again, as by cron', () => {
  test('C4 gives exactly the net changes, and a removal once two polls agree', async () => {
    await using sandbox = await startSandbox({ streams: 30, nasty: 0 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = watchArgs('--state', 'known', '--polls', '1', '--format', 'jsonl', '--quiet');
    const next = async () => {
      const { code, stdout, stderr } = await sluice(args, options);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return changesIn(stdout);
    };
    const all = await next();
    expect(all.map(({ type }) => type)).toEqual(Array.from({ length: 30 }, () => 'initial'));
    expect(await next()).toEqual([]);

    for (const index of [1, 2, 3, 4, 5]) sandbox.setStream(index, { statusMessage: `new ${index}` });
    const { status } = sandbox.stream(6);
    sandbox.setStream(6, { status: 'elsewhere' });
    sandbox.setStream(6, { status });
    const added = [sandbox.addStream(), sandbox.addStream()].map((index) => sandbox.stream(index).id);
    const removed = sandbox.removeStream(9).id;
    const changed = [1, 2, 3, 4, 5].map((index) => sandbox.stream(index).id);

    const second = await next();
    expect(second.map(({ type, key }) => [type, key])).toEqual([
      ...[...sandbox.streamRows()].flatMap(({ id }) => (changed.includes(id) ? [['changed', id]] : [])),
      ...added.map((id) => ['added', id]),
    ]);
    const third = await next();
    expect(third.map(({ type, key }) => [type, key])).toEqual([['removed', removed]]);
    expect(await next()).toEqual([]);
    const together = [...all, ...second, ...third];
    expect(folded(together)).toEqual(listed(sandbox));
    expect(brokenLinks(together)).toEqual([]);
  });

  test('C3 holds removals over restarts, unless they are accepted', async () => {
    await using sandbox = await startSandbox({ streams: 9, nasty: 0 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = watchArgs('--state', 'known', '--polls', '1', '--format', 'jsonl', '--every', '1h');
    await sluice(args, options);
    for (const index of [0, 1, 2, 3, 4, 5]) sandbox.removeStream(index);
    const outcomes = [await sluice(args, options), await sluice(args, options), await sluice(args, options)];
    expect(outcomes.map(({ stdout }) => stdout)).toEqual(['', '', '']);
    expect(outcomes[2]?.stderr).toContain('6 removals are pending, since the listing shrank suspiciously');
    const accepted = await sluice([...args, '--accept-removals'], options);
    expect(changesIn(accepted.stdout).map(({ type }) => type)).toEqual(Array.from({ length: 6 }, () => 'removed'));
  });
});

describe('C6 a watch into a file', () => {
  test('C6 has each change once, whatever stops it, and goes on by itself', async () => {
    await using sandbox = await startSandbox({ streams: 25, nasty: 0, latency: [0, 3] });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    const args = watchArgs('--to', 'changes.jsonl');
    const random = randomFrom(6);
    for (const [round, signal] of (
      ['SIGKILL', 'SIGINT', 'SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGTERM'] as const
    ).entries()) {
      const { process, ended } = startSluice(args, options);
      await polled(sandbox, 2);
      for (let turn = 0; turn < 5; turn += 1) {
        sandbox.setStream(10 + ((round + turn) % 15), { status: random() < 0.5 ? 'error' : 'active' });
        if (turn === 2) sandbox.addStream();
        if (turn === 3) sandbox.removeStream(round);
        await polled(sandbox, 1 + Math.floor(random() * 3));
      }
      process.kill(signal);
      const { code, stdout, stderr } = await ended;
      const exitCode = { SIGKILL: null, SIGINT: 130, SIGTERM: 0 }[signal];
      expect({ code, stdout }).toEqual({ code: exitCode, stdout: '' });
      if (signal !== 'SIGKILL')
        expect(stderr).toMatch(
          new RegExp(
            `sluice: Stopped by ${signal}\\. The state is in changes\\.jsonl\\.sluice; run the same command to resume\\.\n$`,
          ),
        );
    }
    const last = await sluice([...args, '--polls', '4'], options);
    expect(last).toMatchObject({ code: 0, stderr: expect.stringMatching(/ in 4 polls -> changes\.jsonl\n$/) });
    const changes = changesInFile(join(cwd, 'changes.jsonl'));
    expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length);
    expect(brokenLinks(changes)).toEqual([]);
    expect(folded(changes)).toEqual(listed(sandbox));
  });

  test('E6 a file that is not of this watch, or was edited, is refused and stays; --restart begins anew', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    const args = watchArgs('--to', 'changes.jsonl', '--polls', '1');
    await writeFile(join(cwd, 'changes.jsonl'), 'mine\n');
    const refused = async (sentence: string, ...more: string[]) => {
      const before = filesIn(cwd);
      const { code, stderr } = await sluice([...args, ...more], options);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^sluice: [^\n]+\n$/) });
      expect(stderr).toContain(sentence);
      expect(filesIn(cwd)).toEqual(before);
    };
    await refused(
      'exists already, and was not touched. Give another name, or replace it with --if-exists overwrite. If a watch has written it, give its --state DIR to resume: to overwrite it discards the changes in it.',
    );
    expect((await sluice([...args, '--if-exists', 'overwrite'], options)).code).toBe(0);
    await refused('was written with different settings (--only', '--only', 'status');
    await refused('exists already, and was not touched.', '--restart');
    await writeFile(join(cwd, 'changes.jsonl'), 'mine\n');
    await refused('was changed by another program since the last commit, and not by log rotation. Move it away,');
    sandbox.setStream(0, { status: 'elsewhere' });
    expect((await sluice([...args, '--restart', '--if-exists', 'overwrite'], options)).code).toBe(0);
    const changes = changesInFile(join(cwd, 'changes.jsonl'));
    expect(changes.map(({ type }) => type)).toEqual(['initial', 'initial', 'initial']);
    expect(folded(changes)).toEqual(listed(sandbox));
    expect((await sluice(args, options)).code).toBe(0);
  });
});

describe('state', () => {
  test.each([
    ['known', ['--state', 'known']],
    ['changes.jsonl.sluice', ['--to', 'changes.jsonl']],
  ])('E8 a second watch on %s is refused, and told whom to wait for', async (folder, more) => {
    await using sandbox = await startSandbox({ streams: 3 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const first = startSluice(watchArgs(...more), options);
    await listenTo(first.process.stderr).until(/Watching/);
    for (const [other, said] of [
      [[], ''],
      [['--restart'], ''],
      [['--break-lock'], ' It is alive, so its lock is not broken.'],
    ] as const) {
      expect(await sluice(watchArgs(...more, ...other), options)).toEqual({
        code: 1,
        stdout: '',
        stderr: `sluice: ${join(options.cwd, folder)} is in use by process ${String(first.process.pid)} on ${hostname().slice(0, 24)}.${said} Wait until it is done, or stop it: nothing was changed.\n`,
      });
    }
    first.process.kill('SIGTERM');
    expect((await first.ended).code).toBe(0);
  });

  test('E6 that is damaged, or of another watch, is refused and not touched; --restart forgets it', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    const args = watchArgs('--state', 'known', '--polls', '1');
    await sluice(args, options);
    const log = join(cwd, 'known', 'watch.log');
    const intact = await readFile(log, 'utf8');
    const refused = async (sentence: string, command = args) => {
      const before = filesIn(cwd);
      const { code, stdout, stderr } = await sluice(command, options);
      expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) });
      expect(stderr).toMatch(/^sluice: [^\n]+: nothing was changed\.\n$/);
      expect(filesIn(cwd)).toEqual(before);
    };
    const nfts = ['nfts', 'watch', '--owner', ...sandbox.owners, '--state', 'known'];
    await refused('belongs to another watch', nfts);
    await writeFile(log, intact.replace('"rows"', '"rowz"'));
    await refused('is damaged at byte');
    await writeFile(log, '');
    await refused('is empty');
    const anew = await sluice([...args, '--restart'], options);
    expect(anew).toMatchObject({ code: 0, stdout: expect.stringContaining('3 streams at the start') });
    expect((await sluice(args, options)).stdout).toBe('');
  });

  test('E6 leaves alone what else lies in its folder, and refuses what has its names and is not its own, also with --restart', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const cwd = temporaryFolder();
    const options = { env: settingsFor(sandbox), cwd };
    const folder = join(cwd, 'known');
    await mkdir(folder);
    for (const name of ['new-report.csv', 'new-app.log']) await writeFile(join(folder, name), 'mine\n');
    const args = watchArgs('--state', 'known', '--polls', '1');
    for (const more of [[], ['--restart'], ['--to', 'changes.jsonl']])
      expect((await sluice([...args, ...more], options)).code).toBe(0);
    for (const name of ['new-report.csv', 'new-app.log'])
      expect(await readFile(join(folder, name), 'utf8')).toBe('mine\n');

    const refused = async (name: string, more: readonly string[]) => {
      const path = join(folder, name);
      const intact = await readFile(path);
      await writeFile(path, 'mine\n');
      const before = filesIn(cwd);
      const { code, stdout, stderr } = await sluice([...args, '--restart', ...more], options);
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: `sluice: ${path} was not written by Sluice, or lost its first bytes. Move it away, or keep the state in another folder: nothing was changed.\n`,
      });
      expect(filesIn(cwd)).toEqual(before);
      await writeFile(path, intact);
    };
    const file = ['--to', 'changes.jsonl', '--if-exists', 'overwrite'];
    await refused('watch.log', []);
    await refused('watch.log', file);
    await refused('checkpoint', file);
    expect((await sluice([...args, '--restart', ...file], options)).code).toBe(0);
  });

  test('C7 without it each start begins with what is there', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const args = watchArgs('--polls', '2', '--format', 'jsonl');
    const one = await sluice(args, { env: settingsFor(sandbox) });
    const other = await sluice(args, { env: settingsFor(sandbox) });
    for (const { stdout } of [one, other])
      expect(changesIn(stdout).map(({ type }) => type)).toEqual(['initial', 'initial', 'initial']);
  });
});

/** Numbers in [0, 1), the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
