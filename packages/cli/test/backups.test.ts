// @module-tag slow
import { cpSync, existsSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { startReceiver, startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { folderWithSecret, forwardTo, secret } from './forwarding.js';
import { exportArgs, filesIn, interrupt } from './interruptedExport.js';
import { readTable } from './readTable.js';
import { settingsFor, sluice, type Outcome } from './runSluice.js';
import { changesInFile } from './watching.js';

/** A folder in which one command runs again and again, and of which parts are kept and restored. */
class Runs {
  readonly cwd: string;
  readonly #sandbox: Sandbox;
  readonly #args: readonly string[];
  #changes = 0;

  constructor(sandbox: Sandbox, args: readonly string[], cwd = temporaryFolder()) {
    this.#sandbox = sandbox;
    this.#args = args;
    this.cwd = cwd;
  }

  run(...more: string[]): Promise<Outcome> {
    return sluice([...this.#args, ...more], { env: settingsFor(this.#sandbox), cwd: this.cwd });
  }

  /** After a change of a row. */
  runChanged(row = 0): Promise<Outcome> {
    this.#sandbox.setStream(row, { tag: `change ${String((this.#changes += 1))}` });
    return this.run();
  }

  path(name: string): string {
    return join(this.cwd, name);
  }

  text(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  copy(from: string, to: string): void {
    rmSync(this.path(to), { recursive: true, force: true });
    cpSync(this.path(from), this.path(to), { recursive: true });
  }

  lose(...names: string[]): void {
    for (const name of names) rmSync(this.path(name), { recursive: true });
  }

  /** Expects that a run is refused and touches nothing. */
  async expectRefused(message: RegExp): Promise<void> {
    const before = filesIn(this.cwd);
    expect(await this.run()).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
    expect(filesIn(this.cwd)).toEqual(before);
  }
}

describe.each([
  ['beside it', 'c.jsonl.sluice', []],
  ['where --state says', 'known', ['--state', 'known']],
])('C6 changes in a file whose state is %s', (_, state, more) => {
  const file = 'c.jsonl';
  const args = ['streams', 'watch', '--to', file, '--polls', '1', ...more];

  test('are not cut to an older state, and a new file goes on from that', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const runs = new Runs(sandbox, args);
    await runs.run();
    runs.copy(state, 'backup');
    for (let run = 0; run < 3; run += 1) await runs.runChanged();
    const newer = runs.text(file);
    runs.copy('backup', state);
    await runs.expectRefused(
      new RegExp(`^sluice: .*${file} is newer than its state, which does not know the last 3 of its lines`),
    );
    renameSync(runs.path(file), runs.path('old'));
    expect(await runs.runChanged()).toMatchObject({ code: 0, stderr: expect.stringContaining('1 change in 1 poll') });
    expect(runs.text('old')).toBe(newer);
    expect(runs.text(file)).toContain('change 4');
  });

  test('go on from a backup of both', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const runs = new Runs(sandbox, args);
    await runs.run();
    runs.copy(state, 'backup.state');
    runs.copy(file, 'backup.file');
    for (let run = 0; run < 3; run += 1) await runs.runChanged();
    runs.copy('backup.state', state);
    runs.copy('backup.file', file);
    expect(await runs.run()).toMatchObject({ code: 0, stderr: expect.stringContaining('1 change in 1 poll') });
    expect(runs.text(file)).toContain('change 3');
    expect(runs.text(file)).not.toContain('change 2');
  });

  test('are not touched if the file is older than the state, or has none', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const runs = new Runs(sandbox, args);
    await runs.run();
    runs.copy(file, 'backup');
    await runs.runChanged();
    runs.copy('backup', file);
    await runs.expectRefused(/was changed by another program .* Move it away, then run it again/);
    runs.lose(file);
    expect(await runs.runChanged()).toMatchObject({ code: 0, stderr: expect.stringContaining('1 change in 1 poll') });
    runs.lose(state);
    await runs.expectRefused(/exists already, and was not touched/);
  });
});

describe('a file of rows whose state was restored', () => {
  test('E1 is fetched again behind an older state, and each part without the other is refused', async () => {
    await using sandbox = await startSandbox({ owners: 4, nasty: 0 });
    const args = exportArgs(sandbox, 'h.csv');
    const runs = new Runs(sandbox, args);
    await interrupt(sandbox, args, { cwd: runs.cwd, after: 6 });
    runs.copy('h.csv.sluice', 'older.state');
    runs.copy('h.csv.part', 'older.part');
    await interrupt(sandbox, args, { cwd: runs.cwd, after: 6 });
    expect(existsSync(runs.path('h.csv.part'))).toBe(true);
    runs.copy('h.csv.sluice', 'newer.state');
    runs.copy('h.csv.part', 'newer.part');
    runs.copy('older.part', 'h.csv.part');
    await runs.expectRefused(/shorter .* than its checkpoint says.*--restart/s);
    runs.lose('h.csv.part');
    await runs.expectRefused(/no longer exists, but a checkpoint refers to it.*--restart/s);
    runs.copy('newer.part', 'h.csv.part');
    runs.lose('h.csv.sluice');
    await runs.expectRefused(/h\.csv\.part exists already.*--restart/s);
    runs.copy('older.state', 'h.csv.sluice');
    expect((await runs.run()).code).toBe(0);
    const resumed = runs.text('h.csv');
    const whole = new Runs(sandbox, args);
    await whole.run();
    expect(resumed).toBe(whole.text('h.csv'));
  });

  test('E6 is not touched once it is finished, and is exported again when it is lost', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const runs = new Runs(sandbox, ['streams', 'export', '--to', 's.csv']);
    await runs.run();
    runs.copy('s.csv', 'older.file');
    runs.copy('s.csv.sluice', 'older.state');
    runs.lose('s.csv');
    expect((await runs.runChanged()).code).toBe(0);
    runs.copy('s.csv', 'newer.file');
    runs.copy('older.file', 's.csv');
    await runs.expectRefused(/s\.csv exists already, and was not touched/);
    runs.copy('newer.file', 's.csv');
    runs.copy('older.state', 's.csv.sluice');
    await runs.expectRefused(/s\.csv exists already, and was not touched/);
    runs.lose('s.csv.sluice');
    await runs.expectRefused(/s\.csv exists already, and was not touched/);
  });
});

test('D5 a mirror that is restored is brought up to date', async () => {
  await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
  const runs = new Runs(sandbox, ['streams', 'watch', '--to', 's.sqlite', '--polls', '1']);
  await runs.run();
  runs.copy('s.sqlite', 'backup');
  await runs.runChanged();
  runs.copy('backup', 's.sqlite');
  expect((await runs.runChanged()).code).toBe(0);
  expect(readTable(runs.path('s.sqlite'), "SELECT count(*) FROM s WHERE tag = 'change 2'")).toEqual([[1]]);
});

describe('a webhook whose state was restored', () => {
  test('W1 gets what changed since the backup, and all rows without a state', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const args = ['streams', 'watch', ...forwardTo(receiver), '--state', 'st', '--polls', '1'];
    const runs = new Runs(sandbox, args, folderWithSecret());
    await runs.run();
    runs.copy('st', 'backup');
    await runs.runChanged();
    const before = receiver.counts.requests;
    runs.copy('backup', 'st');
    await runs.runChanged();
    expect(receiver.counts.requests).toBe(before + 1);
    runs.lose('st');
    await runs.run();
    expect(receiver.counts.requests).toBe(before + 1 + 3);
  });

  test('W9 keeps its dead letters, and goes on without them', async () => {
    await using sandbox = await startSandbox({ streams: 2, nasty: 0 });
    await using receiver = await startReceiver({ secrets: [secret], script: () => ({ status: 422 }) });
    const args = [
      'streams',
      'watch',
      ...forwardTo(receiver),
      '--state',
      'st',
      '--dead-letters',
      'dead',
      '--polls',
      '1',
    ];
    const runs = new Runs(sandbox, args, folderWithSecret());
    const letters = (): number => changesInFile(runs.path('dead')).length;
    expect((await runs.run()).code).toBe(3);
    runs.copy('st', 'backup');
    await runs.runChanged();
    await runs.runChanged();
    expect(letters()).toBe(4);
    runs.copy('backup', 'st');
    expect((await runs.runChanged(1)).code).toBe(3);
    // What the older state finds are other events.
    expect(letters()).toBe(6);
    truncateSync(runs.path('dead'));
    await runs.runChanged();
    expect(letters()).toBe(1);
    runs.lose('dead');
    await runs.runChanged();
    expect(letters()).toBe(1);
  });
});
