import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startReceiver, startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { folderWithSecret, forwardTo, secret } from './forwarding.js';
import { settingsFor, sluice } from './runSluice.js';
import { watchArgs } from './watching.js';

const lasting = ['--rule', 'dying: status=broken for 0 deadline 24h'];

/** Polls once, as a night does. */
function night(sandbox: Sandbox, cwd: string, ...more: string[]) {
  const args = watchArgs('--polls', '1', '--state', join(cwd, 'state'), ...more);
  return sluice(args, { env: settingsFor(sandbox), cwd });
}

function eventsIn(file: string): readonly Record<string, unknown>[] {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('sluice streams watch --rule', () => {
  test('C13 prints what is due on stdout, once, and when it is resolved', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const cwd = temporaryFolder();
    expect(await night(sandbox, cwd, ...lasting, '--quiet')).toMatchObject({ code: 0, stderr: '' });
    const { tag } = sandbox.setStream(1, { status: 'broken' });
    const { code, stdout, stderr } = await night(sandbox, cwd, ...lasting, '--quiet', '--only', 'status');
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(
      new RegExp(
        `^${time}  ${tag} +.* -> broken.*\n${time}  ${tag} +DUE: dying  since ${time}  act before ${time}  .*\n$`,
      ),
    );
    expect(await night(sandbox, cwd, ...lasting, '--quiet')).toMatchObject({ code: 0, stdout: '' });
    sandbox.setStream(1, { status: 'active' });
    expect((await night(sandbox, cwd, ...lasting, '--quiet')).stdout).toMatch(/\n.* +resolved: dying  since /);
  });

  test('C13 writes it to a file, and says it on stderr, also with --quiet', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const cwd = temporaryFolder();
    const { id, tag } = sandbox.setStream(1, { status: 'broken' });
    const file = join(cwd, 'changes.jsonl');
    const quiet = await night(sandbox, cwd, ...lasting, '--quiet', '--to', file);
    expect(quiet).toMatchObject({ code: 0, stdout: '' });
    expect(quiet.stderr).toMatch(new RegExp(`^sluice: ${tag}  DUE: dying  since .* or earlier`));
    expect(eventsIn(file).at(-1)).toMatchObject({
      type: 'due',
      rule: 'dying',
      key: id,
      row: { id, status: 'broken' },
      began: { earliest: null },
      times: 1,
      actBefore: null,
    });
    const gone = await night(sandbox, cwd, '--to', file);
    expect(gone.stderr).toMatch(/resolved: dying/);
    expect(eventsIn(file).at(-1)).toMatchObject({ type: 'resolved', why: 'rule', key: id });
    const before = eventsIn(file).length;
    expect(await night(sandbox, cwd, '--quiet', '--to', file)).toMatchObject({ code: 0, stderr: '' });
    expect(eventsIn(file)).toHaveLength(before);
  });

  test('C13 forwards it as an event of the row, behind the changes', async () => {
    await using sandbox = await startSandbox({ streams: 2 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const cwd = folderWithSecret();
    sandbox.setStream(1, { status: 'broken' });
    const args = watchArgs('--polls', '1', ...forwardTo(receiver), ...lasting);
    expect(await sluice(args, { env: settingsFor(sandbox), cwd })).toMatchObject({ code: 0 });
    const types = [...receiver.accepted.values()].map(({ body }) => (JSON.parse(body) as { type: string }).type);
    expect(types.toSorted()).toEqual([
      'streams.list.changes.due',
      'streams.list.changes.initial',
      'streams.list.changes.initial',
    ]);
  });

  test('C13 says it in colours, and of many rows the first ones and how many more there are', async () => {
    await using sandbox = await startSandbox({ streams: 30 });
    const cwd = temporaryFolder();
    const env = { ...settingsFor(sandbox), FORCE_COLOR: '1' };
    const rule = ['--rule', 'all: status!=none for 0'];
    const { stderr } = await sluice(watchArgs('--polls', '1', '--to', 'all.jsonl', ...rule), { env, cwd });
    const lines = stderr.split('\n').filter((line) => line.includes('DUE: all'));
    expect(lines).toHaveLength(20);
    expect(stderr).not.toContain('\u241b');
    expect(stderr).toContain('and 10 more rows that are due or resolved');
    expect(eventsIn(join(cwd, 'all.jsonl'))).toHaveLength(60);
  });

  test.each(['mirror', 'history'])('C13 leaves it out of a table that is a %s', async (mode) => {
    await using sandbox = await startSandbox({ streams: 2 });
    const cwd = temporaryFolder();
    const to = ['--to', 'streams.sqlite', ...(mode === 'history' ? ['--mode', mode] : []), '--polls', '1'];
    const run = () => sluice(watchArgs(...to, ...lasting), { env: settingsFor(sandbox), cwd });
    expect(await run()).toMatchObject({ code: 0 });
    sandbox.setStream(1, { status: 'broken' });
    const second = await run();
    expect(second).toMatchObject({ code: 0 });
    expect(second.stderr).toMatch(/DUE: dying/);
    // Nothing but a rule's event is found: the table takes that as a generation without changes.
    const third = await sluice(watchArgs(...to), { env: settingsFor(sandbox), cwd });
    expect(third).toMatchObject({ code: 0 });
    expect(third.stderr).toMatch(/resolved: dying/);
    expect(await run()).toMatchObject({ code: 0 });
  });

  test.each([
    ['dying status=broken for 20h', 'is not a rule. Give one like'],
    ['dying: status for 20h', 'is not a rule'],
    ['dying: status=broken', 'is not a rule'],
    ['dying: status=broken, for 20h', 'is not a rule'],
    ['dying: status==broken for 20h', 'is not a rule'],
    ['dying: status=!broken for 20h', 'is not a rule'],
    [`dying:${' '.repeat(5_000)}x`, 'is not a rule'],
    ['dying: status=broken for 20', 'has for 20. Give a number with its unit'],
    ['dying: status=broken for 20h again 0h', 'has again 0h. It must be longer than zero.'],
    ['dying: statsu=broken for 20h', 'no row has the field statsu. Did you mean status?'],
  ])('refuses %s with one sentence', async (rule, said) => {
    await using sandbox = await startSandbox({ streams: 1 });
    const args = watchArgs('--polls', '1', '--rule', rule);
    const { code, stdout, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd: temporaryFolder() });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(said);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test('refuses two rules of one name', async () => {
    await using sandbox = await startSandbox({ streams: 1 });
    const args = watchArgs('--polls', '1', ...lasting, ...lasting);
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd: temporaryFolder() });
    expect([code, stderr]).toEqual([2, expect.stringContaining('two rules have the name "dying"')]);
  });
});
