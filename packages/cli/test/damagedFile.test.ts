// @module-tag slow
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { changesInFile, watchArgs } from './watching.js';

const holdings = 1000;

const attacks: Record<string, (path: string) => void> = {
  'cut to nothing': (path) => truncateSync(path, 0),
  'overwritten by four bytes': (path) => {
    const file = openSync(path, 'r+');
    writeSync(file, 'XXXX', Math.floor(statSync(path).size / 2));
    closeSync(file);
  },
  // More than a write has: one that is under way would replace less, and the file would be as it should.
  'appended to': (path) => appendFileSync(path, 'mine\n'.repeat(200_000)),
  'replaced by another of its size': (path) => {
    writeFileSync(`${path}.other`, 'x'.repeat(statSync(path).size));
    renameSync(`${path}.other`, path);
  },
  removed: (path) => rmSync(path),
};

interface Attacked {
  readonly name: string;
  readonly more: readonly string[];
}

interface Exported extends Attacked {
  readonly sandbox: Sandbox;
  readonly cwd: string;
}

/** Exports 40 pages of 4 owners, with a commit after each third. */
function exported({ name, more, sandbox, cwd }: Exported, ...again: readonly string[]): ReturnType<typeof sluice> {
  const owners = ['--owner', ...sandbox.owners, '--owners-per-request', '1', '--rate', 'unlimited'];
  const pages = ['--page-size', '25', '--commit-every', '3'];
  const args = ['nfts', 'export', ...owners, '--to', name, ...pages, ...more, ...again];
  return sluice(args, { env: settingsFor(sandbox), cwd });
}

async function wholeFile(way: Attacked): Promise<Buffer> {
  await using sandbox = await startSandbox({ holdings, owners: 4 });
  const cwd = temporaryFolder();
  expect(await exported({ ...way, sandbox, cwd })).toMatchObject({ code: 0 });
  return readFileSync(join(cwd, way.name));
}

const ways: readonly Attacked[] = [
  { name: 'holdings.csv', more: [] },
  { name: 'holdings.jsonl', more: ['--concurrency', '3'] },
  { name: 'holdings.csv.gz', more: [] },
];

describe.each(ways)('E6 a file that somebody changes while the command writes it ($name)', ({ name, more }) => {
  let undisturbed: Buffer | undefined;

  test.each(Object.keys(attacks))(
    'and that is %s, is not published, and the message leads to the right one',
    async (attack) => {
      const cwd = temporaryFolder();
      const partition = join(cwd, `${name}.part`);
      let isDone = false;
      // At the 30th request at least 20 pages are committed.
      await using sandbox = await startSandbox({
        holdings,
        owners: 4,
        script: ({ nth }) => {
          if (nth === 30 && !isDone) {
            isDone = true;
            attacks[attack]?.(partition);
          }
          return undefined;
        },
      });
      const command = { name, more, sandbox, cwd };
      const { code, stderr } = await exported(command);
      expect(isDone).toBe(true);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /\nsluice: \S+\.part (has|does not hold|was removed|was replaced)[^\n]+\n$|^sluice: \S+\.part [^\n]+\n$/,
      );
      expect(existsSync(join(cwd, name))).toBe(false);
      expect(existsSync(`${partition}.damaged`)).toBe(stderr.includes(`kept as ${partition}.damaged`));
      const again = stderr.includes('with --restart') ? ['--restart'] : [];
      expect(again.length === 1).toBe(attack.startsWith('replaced'));
      expect(await exported(command, ...again)).toMatchObject({ code: 0 });
      undisturbed ??= await wholeFile({ name, more });
      expect(readFileSync(join(cwd, name)).equals(undisturbed)).toBe(true);
    },
  );
});

describe("C6 a watch's file that is rotated while the command writes it", () => {
  test.each<[string, (path: string) => void]>([
    ['renamed', (path) => renameSync(path, `${path}.1`)],
    [
      'copied and cut to nothing',
      (path) => {
        copyFileSync(path, `${path}.1`);
        truncateSync(path, 0);
      },
    ],
  ])('%s: each change is in one of both files, once', async (_, rotate) => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'changes.jsonl');
    await using sandbox = await startSandbox({
      streams: 30,
      statusEvery: 1,
      script: ({ nth }) => {
        if (nth === 8) rotate(path);
        return undefined;
      },
    });
    const options = { env: settingsFor(sandbox), cwd };
    expect(await sluice(watchArgs('--to', 'changes.jsonl', '--polls', '12'), options)).toMatchObject({ code: 0 });
    const changes = [...changesInFile(`${path}.1`), ...changesInFile(path)];
    expect(changesInFile(path).length).toBeGreaterThan(0);
    expect(new Set(changes.map(({ id }) => id)).size).toBe(changes.length);
    // No change is missing: what each one changes is what the one before it, of the same stream, left.
    const known = new Map<string, unknown>();
    for (const { key, before, after } of changes) {
      if (known.has(key)) expect(before).toEqual(known.get(key));
      known.set(key, after);
    }
  });

  test('overwritten in place: an error that says the way out', async () => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'changes.jsonl');
    await using sandbox = await startSandbox({
      streams: 30,
      statusEvery: 1,
      script: ({ nth }) => {
        if (nth === 8) attacks['overwritten by four bytes']?.(path);
        return undefined;
      },
    });
    const options = { env: settingsFor(sandbox), cwd };
    const args = watchArgs('--to', 'changes.jsonl', '--polls', '12');
    const { code, stderr } = await sluice(args, options);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /changes\.jsonl was changed by another program .* Move it away, then run it again: the export starts a new file, and no row is lost\./,
    );
    renameSync(path, `${path}.edited`);
    expect(await sluice(args, options)).toMatchObject({ code: 0 });
  });
});
