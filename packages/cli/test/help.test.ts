import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { bash, settingsFor, sluice, startSluice } from './runSluice.js';

/** All commands that do something, as the help of the program and of its groups lists them. */
async function commandsUnder(words: readonly string[] = []): Promise<string[][]> {
  const { stdout } = await sluice([...words, '--help']);
  const [, listed = ''] = /^Commands:\n((?: {2}.*\n)+)/m.exec(stdout) ?? [];
  const names = [...listed.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
  if (names.length === 0) return [[...words]];
  const below: string[][] = [];
  for (const name of names) below.push(...(await commandsUnder([...words, name])));
  return below;
}

describe('U6 the help', () => {
  test('of each command has two examples, whose options it explains', async () => {
    const commands = await commandsUnder();
    expect(commands.length).toBeGreaterThan(20);
    for (const words of commands) {
      const { stdout } = await sluice([...words, '--help']);
      const [options = '', shown = ''] = stdout.split('\nExamples:\n');
      const examples = shown.trimEnd().split('\n');
      expect(examples.length, words.join(' ')).toBeGreaterThanOrEqual(2);
      for (const example of examples) {
        expect(example).toContain(words.join(' '));
        for (const [, flag = ''] of example.matchAll(/ (--[a-z-]+)/g)) expect(options).toContain(` ${flag}`);
      }
    }
  });

  test('knows every option that an error or another text names', async () => {
    const helps: string[] = [];
    for (const words of await commandsUnder()) helps.push((await sluice([...words, '--help'])).stdout);
    const flag = /(?<![\w(-])--[a-z]+(?:-[a-z]+)*(?![\w:-])/g;
    // The second and the third are options of Node.js.
    const known = new Set([
      '--version',
      '--max-old-space-size',
      '--max-http-header-size',
      ...helps.join().match(flag)!,
    ]);
    const unknown: string[] = [];
    for (const name of ['cli', 'cluster', 'core', 'exporters', 'tables']) {
      const folder = new URL(`../../${name}/src/`, import.meta.url);
      for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((each) =>
        each.endsWith('.ts'),
      ))
        for (const named of readFileSync(new URL(file, folder), 'utf8').match(flag) ?? [])
          if (!known.has(named)) unknown.push(`${named} in ${name}/src/${file}`);
    }
    expect(unknown).toEqual([]);
  });

  test('of a command with several words', async () => {
    const helped = await sluice(['help', 'nfts', 'export']);
    expect(helped).toEqual(await sluice(['nfts', 'export', '--help']));
    expect(helped).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: sluice nfts export [options]') });
    expect((await sluice(['help'])).stdout).toBe((await sluice(['--help'])).stdout);
    expect(await sluice(['help', 'nfts', 'nothing'])).toMatchObject({
      code: 2,
      stderr: 'sluice: There is no command "nfts nothing".\n',
    });
  });
});

/** What a shell is told at Tab. */
async function completed(...words: string[]): Promise<string[]> {
  const { stdout } = await startSluice(['complete', '--', ...words]).ended;
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');
}

const library = '/usr/share/bash-completion/bash_completion';

describe('U6 completion', () => {
  test('knows commands, options, choices, and where a file is wanted', { tags: ['slow'] }, async () => {
    expect(await completed('nf')).toEqual(['nfts', ':4']);
    expect(await completed('cluster', 'submit', '')).toEqual(['nfts', 'export', 'help', ':4']);
    expect(await completed('nfts', 'export', '--own')).toEqual([
      '--owner',
      '--owners-file',
      '--owners-per-request',
      ':4',
    ]);
    expect(await completed('nfts', 'export', '--if-exists', '')).toEqual(['fail', 'overwrite', 'append', ':4']);
    expect(await completed('nfts', 'export', '--to', 'h')).toEqual([':0']);
  });

  test.each(['bash', 'zsh', 'fish'])(
    'prints a script for %s that asks this command',
    { tags: ['slow'] },
    async (shell) => {
      const { code, stdout } = await startSluice(['completion', shell]).ended;
      expect(code).toBe(0);
      expect(stdout).toContain('sluice complete -- ');
    },
  );

  test('refuses other shells', async () => {
    const refused = await sluice(['completion', 'cmd']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Allowed choices are bash, zsh, fish') });
  });

  test.runIf(existsSync(library))('works in bash', async () => {
    const cwd = temporaryFolder();
    writeFileSync(
      join(cwd, 'press'),
      `source ${library}
sluice() { "\${run[@]}" "$@"; }
run=("$@")
source <(sluice completion bash)
press() {
  COMP_LINE="$1" COMP_POINT=\${#1}
  read -ra COMP_WORDS <<< "$1"
  [[ "$1" == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
  __sluice_complete 2> /dev/null
  echo "\${COMPREPLY[*]}"
}
complete -p sluice
press 'sluice str'
press 'sluice streams watch --onl'
press 'sluice streams watch --only '
`,
    );
    const { stdout } = await bash('source ./press', [], { cwd });
    expect(stdout.trimEnd().split('\n')).toEqual([
      'complete -o default -F __sluice_complete sluice',
      'streams',
      '--only',
      'status',
    ]);
  });
});

describe('U6 sluice doctor --json', () => {
  test('prints what it found as one object, and no secret', async () => {
    await using sandbox = await startSandbox();
    const env = settingsFor(sandbox);
    const { code, stdout } = await sluice(['doctor', '--json'], { env });
    expect(code).toBe(0);
    const report: unknown = JSON.parse(stdout);
    expect(report).toMatchObject({
      isWell: true,
      findings: expect.arrayContaining([{ level: 'ok', subject: 'Node', text: process.versions.node }]),
    });
    expect(stdout).not.toContain(sandbox.apiKey);
    const wrong = await sluice(['doctor', '--json', '--quiet'], {
      env: { ...env, SLUICE_API_KEY: 'wrong-key-of-somebody' },
    });
    expect(wrong.code).toBe(1);
    expect(JSON.parse(wrong.stdout)).toMatchObject({
      isWell: false,
      findings: [
        { level: 'fail', subject: 'streams' },
        { level: 'fail', subject: 'aptos' },
      ],
    });
    expect(wrong.stdout).not.toContain('wrong-key-of-somebody');
  });
});
