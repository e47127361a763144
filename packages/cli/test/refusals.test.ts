import { readFileSync } from 'node:fs';
import { chown, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { afterAll, describe, expect, test } from 'vitest';
import { exportArgs, exportedIn, filesIn, interrupt } from './interruptedExport.js';
import { settingsFor, sluice, startSluice, type RunOptions } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const checkpoint = join('out.csv.sluice', 'checkpoint');

const sandbox = await startSandbox({ holdings: 2000, latency: 3 });
const args = exportArgs(sandbox, 'out.csv');
afterAll(() => sandbox.close());
let stoppedExport: Map<string, Buffer> | undefined;
let wholeExport: Record<string, string> | undefined;

/** A folder with an export that was stopped in the middle. */
async function stopped(): Promise<string> {
  const cwd = temporaryFolder();
  if (!stoppedExport) {
    expect((await interrupt(sandbox, args, { cwd, after: 12 })).code).toBe(130);
    stoppedExport = new Map(Object.keys(filesIn(cwd)).map((name) => [name, readFileSync(join(cwd, name))]));
    return cwd;
  }
  await mkdir(join(cwd, 'out.csv.sluice'));
  for (const [name, bytes] of stoppedExport) await writeFile(join(cwd, name), bytes);
  return cwd;
}

/** What a folder holds after an export that was never stopped. */
async function whole(): Promise<Record<string, string>> {
  if (wholeExport) return wholeExport;
  const cwd = temporaryFolder();
  expect((await sluice(args, { env: settingsFor(sandbox), cwd })).code).toBe(0);
  return (wholeExport = exportedIn(cwd));
}

/** Expects one sentence and exit code 1, no request, and every byte as it was. Answers the sentence. */
async function refused(
  command: readonly string[],
  options: RunOptions & { readonly cwd: string },
  { api = sandbox, run = sluice }: { readonly api?: Sandbox; readonly run?: typeof sluice } = {},
): Promise<string> {
  const files = filesIn(options.cwd);
  const requests = api.counts.requests;
  const { code, stdout, stderr } = await run(command, { env: settingsFor(api), ...options });
  expect({ code, stdout, stderr }).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^sluice: [^\n]+\n$/),
  });
  expect(filesIn(options.cwd)).toEqual(files);
  expect(api.counts.requests).toBe(requests);
  return stderr;
}

describe('E6 a checkpoint of another plan is refused', () => {
  test('E6 in a sentence that says which options differ, and how to go on', { tags: ['slow'] }, async () => {
    const cwd = await stopped();
    const [first = ''] = sandbox.owners;
    const others: [string, string[]][] = [
      ['--page-size', [...args, '--page-size', '50']],
      ['--owner or --owners-per-request', [...args, '--owner', '0x1']],
      ['--owner or --owners-per-request', exportArgs({ owners: [first] }, 'out.csv')],
      ['--columns', [...args, '--columns', 'name']],
      ['--max-rows', [...args, '--max-rows', '1500']],
      ['--gzip', [...args, '--gzip']],
      ['--format', [...args, '--format', 'jsonl']],
      ['--include-collections', [...args, '--include-collections', 'ab']],
      ['--no-guard-formulas', [...args, '--no-guard-formulas']],
      ['--if-exists', [...args, '--if-exists', 'append']],
    ];
    for (const [flag, changed] of others)
      expect((await refused(changed, { cwd })).replace(/node \S+\.js/, 'sluice')).toBe(
        `sluice: The checkpoint was written with different settings (${flag}). It was made with columns: all; page size: the default; wallets: ${sandbox.owners.length} of --owner; command: sluice ${args.join(' ')}. Use the previous settings, or start over with --restart: nothing was changed.\n`,
      );
    const streams = ['streams', 'export', '--to', 'out.csv'];
    expect(await refused(streams, { cwd })).toContain('(what is exported)');
    expect((await sluice(args, { env: settingsFor(sandbox), cwd })).code).toBe(0);
  });

  test(
    'E6 one of another key too, unless --same-project says that it is of the same project',
    { tags: ['slow'] },
    async () => {
      const cwd = temporaryFolder();
      const first = await startSandbox({ holdings: 2000, latency: 3 });
      expect((await interrupt(first, args, { cwd, after: 12 })).code).toBe(130);
      await first.close();
      await using second = await startSandbox({ holdings: 2000, apiKey: 'the-new-key', port: first.port });
      expect(await refused(args, { cwd }, { api: second })).toMatch(
        /^sluice: The checkpoint was made with another API key, [^\n]* say so with --same-project, or start over with --restart: nothing was changed\.\n$/,
      );
      const { code, stderr } = await sluice([...args, '--same-project'], { env: settingsFor(second), cwd });
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^Resuming after/) });
      expect(exportedIn(cwd)).toEqual(await whole());
    },
  );
});

describe('E6 what does not fit together is refused', () => {
  test.each<[string, RegExp, (cwd: string) => Promise<void>]>([
    [
      'an edited .part',
      /out\.csv\.part was changed since its checkpoint was written\./,
      (cwd) => flipByte(join(cwd, 'out.csv.part')),
    ],
    [
      'a shorter .part',
      /out\.csv\.part is shorter \(100 bytes\) than its checkpoint says \(\d+\)\./,
      (cwd) => truncate(join(cwd, 'out.csv.part'), 100),
    ],
    ['a .part that is gone', /out\.csv\.part no longer exists/, (cwd) => rm(join(cwd, 'out.csv.part'))],
    ['a checkpoint without a byte', /checkpoint is empty/, (cwd) => truncate(join(cwd, checkpoint), 0)],
    ['a checkpoint with a flipped byte', /checkpoint is damaged/, (cwd) => flipByte(join(cwd, checkpoint))],
    [
      'a checkpoint of a newer version',
      /checkpoint was written by another version of Sluice \(format 9, this one knows 1\)/,
      (cwd) => edit(join(cwd, checkpoint), (text) => text.replace('sluice-state 1', 'sluice-state 9')),
    ],
    [
      'a .part without a checkpoint',
      /out\.csv\.part exists already/,
      (cwd) => rm(join(cwd, 'out.csv.sluice'), { recursive: true }),
    ],
  ])(
    'E6 %s: a sentence, not a byte is touched, and --restart starts over',
    { tags: ['slow'] },
    async (_, sentence, damage) => {
      const cwd = await stopped();
      await damage(cwd);
      const said = await refused(args, { cwd });
      expect(said).toMatch(sentence);
      expect(said).toMatch(/start over with --restart/i);
      expect((await sluice([...args, '--restart'], { env: settingsFor(sandbox), cwd })).code).toBe(0);
      expect(exportedIn(cwd)).toEqual(await whole());
    },
  );

  test("E6 somebody else's .part, or checkpoint", { tags: ['slow'] }, async () => {
    for (const name of ['out.csv.part', checkpoint]) {
      const cwd = await stopped();
      const env = { ...settingsFor(sandbox), ...(await givenAway(join(cwd, name))) };
      expect(await refused(args, { cwd, env }, { run: (...run) => startSluice(...run).ended })).toMatch(
        new RegExp(`${name} belongs to another user of this machine\\. Ask its owner, or [^\\n]+\\n$`),
      );
    }
  });

  test('E6 a target that appeared meanwhile', { tags: ['slow'] }, async () => {
    const cwd = await stopped();
    await writeFile(join(cwd, 'out.csv'), 'mine');
    expect(await refused(args, { cwd })).toMatch(
      /out\.csv exists already, and was not touched\. Give another name, or replace it with --if-exists overwrite\.\n$/,
    );
    const { code, stderr } = await sluice([...args, '--if-exists', 'overwrite'], { env: settingsFor(sandbox), cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^Resuming after/) });
    expect(exportedIn(cwd)).toEqual(await whole());
  });
});

async function edit(path: string, change: (text: string) => string): Promise<void> {
  await writeFile(path, change(await readFile(path, 'utf8')));
}

async function flipByte(path: string): Promise<void> {
  const bytes = await readFile(path);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** Makes a file another user's. Only root can do so; for others, the command that gets this environment sees it so. */
async function givenAway(path: string): Promise<Readonly<Record<string, string>>> {
  if (process.geteuid?.() === 0) {
    await chown(path, 65_534, 65_534);
    return {};
  }
  const module = `
    import fs from 'node:fs/promises';
    import { syncBuiltinESMExports } from 'node:module';
    const lstat = fs.lstat;
    fs.lstat = async (path, options) => {
      const found = await lstat(path, options);
      return path === ${JSON.stringify(path)} ? Object.assign(found, { uid: Number(found.uid) + 1 }) : found;
    };
    syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(module)}` };
}
