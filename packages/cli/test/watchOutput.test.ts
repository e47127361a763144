import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { bash, settingsFor, sluice, startSluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testEnvironment } from './testEnvironment.js';
import { changesIn, folded, listed, listenTo, polled, watchArgs } from './watching.js';

const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;

describe('sluice streams watch', () => {
  test('C7 sums up what is there in one line, then shows each change in one', async () => {
    await using sandbox = await startSandbox({ streams: 6, nasty: 0 });
    for (const index of [0, 1, 2, 3, 4, 5]) sandbox.setStream(index, { status: 'active', statusMessage: 'Fine' });
    const { process, ended } = startSluice(watchArgs(), { env: settingsFor(sandbox) });
    const stdout = listenTo(process.stdout);
    await stdout.until(/at the start/);
    sandbox.setStream(0, { tag: 'zero', status: 'error', statusMessage: 'No answer' });
    await stdout.until(/No answer/);
    sandbox.setStream(0, { statusMessage: 'Still none' });
    await stdout.until(/Still none/);
    sandbox.setStream(1, { tag: 'one', description: 'longer than can be shown' + '.'.repeat(9) });
    await stdout.until(/ one /);
    sandbox.addStream({ tag: 'new', status: 'paused', statusMessage: 'For now' });
    await stdout.until(/added/);
    sandbox.setStream(2, { tag: 'two' });
    await stdout.until(/ two /);
    sandbox.removeStream(2);
    await stdout.until(/removed/);
    process.kill('SIGINT');
    const outcome = await ended;
    expect(outcome.code).toBe(130);
    const lines = outcome.stdout.trimEnd().split('\n');
    expect(lines).toEqual(
      [
        '6 streams at the start: 6 active {2}\\(--format jsonl lists them\\)',
        'zero {20} {2}active -> error {2}No answer {2}tag \\S+ -> zero',
        'zero {20} {2}error {2}Still none',
        'one {21} {2}changed {2}description {2}tag \\S+ -> one',
        'new {21} {2}added {2}paused {2}For now',
        'two {21} {2}changed {2}tag \\S+ -> two',
        'two {21} {2}removed {2}active {2}Fine',
      ].map((line): unknown => expect.stringMatching(new RegExp(`^${time} {2}${line}$`))),
    );
    expect(outcome.stderr).toMatch(
      new RegExp(
        `^${time} {2}Watching 6 streams, polling every 20 ms\\.\nsluice: Stopped by SIGINT\\. No state is stored without --state DIR: the same command starts over\\.\n$`,
      ),
    );
  });

  test(
    'C7 as JSON Lines gives every row once, and what is folded together is the listing',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ streams: 250 });
      const { process, ended } = startSluice(watchArgs('--format', 'jsonl'), { env: settingsFor(sandbox) });
      const stderr = listenTo(process.stderr);
      const stdout = listenTo(process.stdout);
      await stderr.until(/Watching 250 streams/);
      const added = sandbox.stream(sandbox.addStream()).id;
      sandbox.setStream(7, { status: 'odd\u2028one' });
      await stdout.until(/odd/);
      await stdout.until(new RegExp(`"added","key":"${added}"`));
      process.kill('SIGTERM');
      const outcome = await ended;
      expect(outcome.code).toBe(0);
      const changes = changesIn(outcome.stdout);
      expect(changes.slice(0, 250).every(({ type }) => type === 'initial')).toBe(true);
      expect(
        changes
          .slice(250)
          .map(({ type }) => type)
          .toSorted(),
      ).toEqual(['added', 'changed']);
      expect(folded(changes)).toEqual(listed(sandbox));
    },
  );

  test('--only status leaves out everything else', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const args = watchArgs('--only', 'status', '--format', 'jsonl');
    const { process, ended } = startSluice(args, { env: settingsFor(sandbox) });
    const stdout = listenTo(process.stdout);
    await polled(sandbox, 2);
    sandbox.setStream(0, { description: 'other' });
    sandbox.addStream();
    await polled(sandbox, 3);
    sandbox.setStream(1, { statusMessage: 'why' });
    await stdout.until(/why/);
    sandbox.setStream(2, { status: 'elsewhere', description: 'too' });
    await stdout.until(/elsewhere/);
    process.kill('SIGINT');
    const changes = changesIn((await ended).stdout);
    expect(changes.map(({ key, fields }) => [key, fields])).toEqual([
      [sandbox.stream(1).id, ['statusMessage']],
      [sandbox.stream(2).id, ['description', 'status']],
    ]);
  });

  test.each([
    [{}, '\u001b[32mactive\u001b[39m -> \u001b[31merror\u001b[39m'],
    [{ NO_COLOR: '1' }, 'active -> error'],
  ])(
    'shows what a stream says, lets it do nothing, and has colours for those who want them (%o)',
    async (variables, arrow) => {
      await using sandbox = await startSandbox({ streams: 2, nasty: 0 });
      sandbox.setStream(0, { status: 'active' });
      const environment = testEnvironment({ variables: { ...settingsFor(sandbox), ...variables }, columns: 100 });
      const ended = main(watchArgs(), environment);
      await polled(sandbox, 2);
      sandbox.setStream(0, { tag: '\u001b[2Jgone\n', status: 'error', statusMessage: 'a\u202eb\u0007' });
      await polled(sandbox, 3);
      environment.interrupt(new Interruption('SIGHUP'));
      expect(await ended).toBe(129);
      const [, line = ''] = environment.written.stdout().trimEnd().split('\n');
      expect(line).toContain('␛[2Jgone');
      expect(line).toContain(arrow);
      expect(line).toContain('a\\u202eb␇');
      expect(line).not.toContain('\u001b[2J');
    },
  );

  test('ends quietly when nobody reads any more', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 20, statusEvery: 5 });
    const line = '"$@" | head -n 2 | wc -l; exit ${PIPESTATUS[0]}';
    const args = watchArgs('--format', 'jsonl', '--quiet');
    expect(await bash(line, args, { env: settingsFor(sandbox) })).toEqual({ code: 141, stdout: '2\n', stderr: '' });
  });

  test('C6 what a slow reader did not take comes again', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ streams: 400 });
    const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
    const args = watchArgs('--format', 'jsonl', '--state', 'known', '--polls', '2');
    const { process, ended } = startSluice(args, options);
    process.stdout.pause();
    await listenTo(process.stderr).until(/Watching 400 streams/);
    process.kill('SIGKILL');
    process.stdout.resume();
    const before = changesIn((await ended).stdout.replace(/[^\n]*$/, ''));
    expect(before.length).toBeLessThan(400);
    const again = await sluice(args, options);
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('changes from the previous run first.') });
    const changes = changesIn(again.stdout);
    expect(changes.map(({ type }) => type)).toEqual(Array.from({ length: 400 }, () => 'initial'));
    expect(changes.slice(0, before.length)).toEqual(before);
  });
});

test('sluice nfts watch shows what wallets got, by name, collection and wallet', { tags: ['slow'] }, async () => {
  const cwd = temporaryFolder();
  const before = await startSandbox({ holdings: 20, owners: 1, nasty: 0 });
  const { port, owners } = before;
  const args = ['nfts', 'watch', '--owner', ...owners, '--state', 'known', '--polls', '1', '--rate', 'unlimited'];
  const first = await sluice(args, { env: settingsFor(before), cwd });
  await before.close();
  expect(first.stdout).toMatch(new RegExp(`^${time} {2}20 NFTs at the start, in \\d+ collections {2}\\(.*\\)\n$`));
  await using after = await startSandbox({ holdings: 21, owners: 1, nasty: 0, port });
  const { stdout } = await sluice(args, { env: settingsFor(after), cwd });
  const { name, collection_name, amount } = after.holding(20);
  const what = [`${time} {2}${String(name)} *`, 'added', `x ${amount}`, collection_name, '0x\\w{4}…\\w{4}'];
  expect(stdout).toMatch(new RegExp(`^${what.join(' {2}')}\n$`));
});
