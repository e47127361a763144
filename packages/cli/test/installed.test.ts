import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { startSandbox } from '@sluice/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { settingsFor } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

// Most tests run the sources. What Node finds from the built files is for it to say.

const run = promisify(execFile);
const home = fileURLToPath(new URL('..', import.meta.url));

/** The command's own folder, where nothing else is but what its package.json has installed. */
function installed(): string {
  const folder = join(temporaryFolder(), 'node_modules');
  const manifest: Manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    cpSync(join(home, 'node_modules', name), join(folder, name), { recursive: true, dereference: true });
  }
  const command = join(folder, '@sluice/cli');
  cpSync(join(home, 'dist'), join(command, 'dist'), { recursive: true });
  cpSync(join(home, 'package.json'), join(command, 'package.json'));
  return command;
}

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

test('as it is installed, each file of the command finds all that it imports', { tags: ['slow'] }, async () => {
  const dist = join(installed(), 'dist');
  const files = readdirSync(dist).filter((name) => name.endsWith('.js') && name !== 'bin.js');
  expect(files.length).toBeGreaterThan(9);
  const imports = files.map((name) => `await import(${JSON.stringify(pathToFileURL(join(dist, name)).href)});`);
  const { stdout, stderr } = await run(process.execPath, ['--input-type=module', '--eval', imports.join('\n')]);
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
});

test('as it is installed, it exports without any other package', async () => {
  const sandbox = await startSandbox({ holdings: 10, owners: 1 });
  onTestFinished(() => sandbox.close());
  const [owner = ''] = sandbox.owners;
  const bin = join(installed(), 'dist/bin.js');
  const args = ['nfts', 'export', '--owner', owner, '--to', '-', '--format', 'jsonl', '--progress', 'none'];
  const { stdout } = await run(process.execPath, [bin, ...args], { env: settingsFor(sandbox) });
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toMatchObject([...sandbox.holdingsOf([owner])]);
});

test('as it is installed, it says how to install the package of the page', { tags: ['slow'] }, async () => {
  const bin = join(installed(), 'dist/bin.js');
  const env = { SLUICE_API_KEY: 'key-of-the-tests', SLUICE_STREAMS_URL: 'https://api.invalid' };
  await expect(run(process.execPath, [bin, 'streams', 'watch', '--dashboard'], { env })).rejects.toMatchObject({
    code: 2,
    stderr:
      'sluice: For --dashboard one more package is needed: npm install @sluice/dashboard, with -g if Sluice is installed globally.\n',
  });
});

test('an export loads few files, and none of what it does not use', { tags: ['slow'] }, async () => {
  const sandbox = await startSandbox({ holdings: 10, owners: 1 });
  onTestFinished(() => sandbox.close());
  const [owner = ''] = sandbox.owners;
  const target = join(temporaryFolder(), 'rows.csv');
  const args = ['nfts', 'export', '--owner', owner, '--to', target];
  const { files, text } = await loadedBy(args, settingsFor(sandbox));
  expect(files).toBeLessThan(80);
  for (const unused of ['function startSandbox', 'jsonc-parser/', 'follow-redirects/'])
    expect(text.includes(unused), unused).toBe(false);
});

test.each(['--version', '--help'])(
  '%s loads nothing of what commands do their work with',
  { tags: ['slow'] },
  async (flag) => {
    const { files, text } = await loadedBy([flag], {});
    expect(files).toBeLessThan(16);
    expect(text.includes('/commander/lib/command.js'), 'commander').toBe(true);
    for (const unused of ['core/src/', 'axios/', 'rxjs/', 'src/progress/barReporter', 'get-east-asian-width/']) {
      expect(text.includes(`/${unused}`), unused).toBe(false);
    }
  },
);

/** How many files a run of the installed command loads, and what is in them. */
async function loadedBy(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ files: number; text: string }> {
  const coverage = temporaryFolder();
  // V8 lists each script that was loaded.
  await run(process.execPath, [join(home, 'dist/bin.js'), ...args], { env: { ...env, NODE_V8_COVERAGE: coverage } });
  const [report = ''] = readdirSync(coverage);
  const { result }: Coverage = JSON.parse(readFileSync(join(coverage, report), 'utf8'));
  const files = result.map(({ url }) => url).filter((url) => url.startsWith('file:'));
  return { files: files.length, text: files.map((url) => readFileSync(fileURLToPath(url), 'utf8')).join('\n') };
}

test('goes through the proxy that the environment names, as it is installed', { tags: ['slow'] }, async () => {
  const bin = join(home, 'dist/bin.js');
  const env = {
    SLUICE_API_KEY: 'key-of-the-tests',
    SLUICE_APTOS_URL: 'https://api.invalid',
    HTTPS_PROXY: 'not a proxy',
  };
  const failed = run(process.execPath, [bin, 'nfts', 'export', '--owner', '0x1', '--to', '-', '--format', 'jsonl'], {
    env,
  });
  await expect(failed).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('is not the URL of a proxy') });
});

test('classes keep their names in the built files', () => {
  const texts = ['cli', 'core', 'exporters', 'tables', 'sandbox'].flatMap((name) => {
    const dist = fileURLToPath(new URL(`../../${name}/dist`, import.meta.url));
    return readdirSync(dist).flatMap((file) => (file.endsWith('.js') ? [readFileSync(join(dist, file), 'utf8')] : []));
  });
  expect(texts.filter((text) => /^var \w+ = class _\w+/m.test(text))).toEqual([]);
  // An error shows the name of its class.
  expect(texts.flatMap((text) => text.match(/^var \w*Error\d+ = class/gm) ?? [])).toEqual([]);
});

test("keeps what Node has compiled in the user's own cache, where Node can", async () => {
  const cache = temporaryFolder();
  const bin = join(home, 'dist/bin.js');
  await run(process.execPath, [bin, '--version'], { env: { XDG_CACHE_HOME: cache, HOME: cache, LOCALAPPDATA: cache } });
  expect(existsSync(join(cache, 'sluice'))).toBe('enableCompileCache' in module);
});
