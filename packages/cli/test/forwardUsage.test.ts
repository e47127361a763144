import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { folderWithSecret, here, secret } from './forwarding.js';

/** An address where nobody answers: whoever asks it gets another fault than the expected one. */
const nobody = { apiKey: 'canary-5f1d77a1e0', streamsUrl: 'http://127.0.0.1:1', aptosUrl: 'http://127.0.0.1:1' };
const url = 'https://hooks.example.com/t0ken-canary';
const forward = ['nfts', 'export', '--owner', '0x1', '--forward', url];
const signed = [...forward, '--secret-file', 'secret'];
const watch = ['streams', 'watch', '--forward', url, '--secret-file', 'secret'];
const replay = ['dlq', 'replay', 'dead.jsonl'];

/** Expects exit code 2, one sentence without anything secret, and a folder as it was. */
async function refused(args: readonly string[], folder = folderWithSecret()): Promise<string> {
  const before = readdirSync(folder);
  const { code, stdout, stderr } = await here(nobody, folder, args);
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^sluice: [^\n]+\n$/),
  });
  expect(stderr).not.toMatch(/canary|MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw/);
  expect(readdirSync(folder)).toEqual(before);
  return stderr;
}

test.each<[string, string[], string]>([
  ['no target', ['nfts', 'export', '--owner', '0x1'], 'Where to? Give --to FILE, --to - for stdout, or --forward URL.'],
  ['two targets', [...signed, '--to', 'out.csv'], '--to and --forward are two targets. Give one of them.'],
  ['two targets of a watch', [...watch, '--to', 'out.jsonl'], '--to and --forward are two targets.'],
  [
    'columns',
    [...signed, '--columns', 'name'],
    '--columns goes with --to: what is forwarded is each record as a whole',
  ],
  ['formulas', [...signed, '--no-guard-formulas'], '--no-guard-formulas goes with --to'],
  ['a format of changes', [...watch, '--format', 'jsonl'], '--format goes with --to'],
  ['a batch for a file', ['streams', 'export', '--to', 'out.csv', '--batch', '9'], '--batch needs --forward URL'],
  ['dead letters of stdout', ['streams', 'watch', '--dead-letters', 'f'], '--dead-letters needs --forward URL'],
  ['a state for a file', ['streams', 'export', '--to', 'out.csv', '--state', 'dir'], '--state goes with --forward'],
  ['a state without a name', [...signed, '--state', ''], '--state is empty'],
  ['dead letters without a name', [...signed, '--dead-letters', ''], '--dead-letters is empty'],
  [
    'to take rows back',
    [...signed, '--on-expired', 'restart-partition'],
    'needs a file: what a service has received cannot be taken',
  ],
  [
    'an address that is none',
    ['streams', 'export', '--forward', 'canary', '--secret-file', 'secret'],
    'is invalid. Give one like',
  ],
  [
    'an address in the open',
    ['streams', 'export', '--forward', 'http://hooks.example.com/t0ken-canary', '--secret-file', 'secret'],
    'The URL of hooks.example.com is not encrypted',
  ],
  [
    'an address with a password',
    ['streams', 'export', '--forward', 'https://me:canary@hooks.example.com', '--secret-file', 'secret'],
    'must not contain a user name or a password',
  ],
  [
    'an allowed address that is none',
    [...signed, '--allow-address', '10.0.0.8,10.0.0.0/33'],
    '"10.0.0.0/33" in --allow-address is not a CIDR',
  ],
  ['an empty list of addresses', [...signed, '--allow-address', 'a,'], 'Give names with commas between them'],
  ['a batch of nothing', [...signed, '--batch', '0'], '--batch is 0: it must be a whole number of at least 1.'],
  ['no requests at once', [...signed, '--deliveries', '0'], '--deliveries is 0'],
  ['half a dead letter', [...signed, '--max-dead-letters', '0.5'], '--max-dead-letters is 0.5'],
  ['another way with dead letters', [...signed, '--on-dead', 'forget'], 'Allowed choices are continue, park.'],
  ['a replay to nowhere', [...replay, '--secret-file', 'secret'], 'Where to? Give --to URL'],
  ['a replay without a secret', [...replay, '--to', url], 'There is no secret to sign with.'],
  [
    'a replay to an address that is none',
    [...replay, '--to', 'canary', '--secret-file', 'secret'],
    'is invalid. Give one like',
  ],
])('%s is refused with exit code 2, before anything is asked', async (_, args, sentence) => {
  expect(await refused(args)).toContain(sentence);
});

describe('the signing secret', () => {
  test.each([
    ['--secret', [...forward, '--secret', secret]],
    ['--secret=', [...forward, `--secret=${secret}`]],
    ['in place of its file', [...forward, '--secret-file', secret]],
    ['in the replay', [...replay, '--to', url, '--secret-file', secret]],
  ])('as an argument (%s) is refused, with the reason and the right places', async (_, args) => {
    expect(await refused(args)).toBe(
      "sluice: The signing secret can't be an argument, since other users of this machine could read it in the list of processes, and the shell keeps it in its history. Store it in a file and give --secret-file FILE, or set SLUICE_WEBHOOK_SECRET.\n",
    );
  });

  test('that is missing, unreadable, empty, none, or one of three is refused; nothing of it is repeated', async () => {
    expect(await refused(forward)).toContain(
      'There is no secret to sign with. Store it in a file and give --secret-file FILE, or set SLUICE_WEBHOOK_SECRET.',
    );
    const folder = folderWithSecret();
    mkdirSync(join(folder, 'canary-folder'));
    writeFileSync(join(folder, 'canary-empty'), ' \n');
    writeFileSync(join(folder, 'canary-none'), 'canary\n');
    writeFileSync(join(folder, 'canary-three'), `${secret}\n${secret}\n${secret}\n`);
    const withFile = (file: string) => refused([...forward, '--secret-file', file], folder);
    expect(await withFile('canary-gone')).toContain(
      "names can't be read: it is not there. Give the path of a file that holds the secret.",
    );
    expect(await withFile('canary-folder')).toContain('it is a folder');
    expect(await withFile('canary-empty')).toContain('is empty. Put the secret into it.');
    expect(await withFile('canary-none')).toContain(
      'is not a signing secret: it must be whsec_ and 16 to 64 bytes in base64',
    );
    expect(await withFile('canary-three')).toContain(
      'There are 3 secrets: give one, or two while one replaces the other.',
    );
  });
});

test('headers that are none are refused by their line; nothing of them is repeated', async () => {
  const folder = folderWithSecret();
  writeFileSync(join(folder, 'headers'), 'X-Team: nfts\nBearer canary\n');
  writeFileSync(join(folder, 'ours'), 'Webhook-Id: canary\n');
  writeFileSync(join(folder, 'twice'), 'X-Token: canary\n\nX-Team: nfts\nX-Token: canary\n');
  writeFileSync(join(folder, 'cases'), 'authorization: canary\nAuthorization: canary\n');
  const withFile = (file: string) => refused([...signed, '--header-file', file], folder);
  expect(await withFile('headers')).toContain('Line 2 of the file that --header-file names is not a header.');
  expect(await withFile('twice')).toContain(
    'The file that --header-file names sets X-Token twice, the second time in line 4. Leave one of them out.',
  );
  expect(await withFile('cases')).toContain('sets Authorization twice, the second time in line 2.');
  expect(await withFile('ours')).toContain('The header "Webhook-Id" is set by Sluice.');
  expect(await withFile('gone')).toContain("The file that --header-file names can't be read: it is not there.");
});

test('--help lists every option of a forward with its default', async () => {
  for (const command of [
    ['nfts', 'export'],
    ['streams', 'export'],
    ['nfts', 'watch'],
    ['streams', 'watch'],
  ]) {
    const { stdout } = await here(nobody, folderWithSecret(), [...command, '--help']);
    const options = ['--forward <url>', '--secret-file <file>', '--header-file <file>', '--allow-address <list>'];
    const others = [
      '--deliveries <n>',
      '--batch <n>',
      '--dead-letters <file>',
      '--max-dead-letters <n>',
      '--on-dead <what>',
    ];
    for (const option of [...options, ...others, '--state <folder>']) expect(stdout).toContain(`\n  ${option}`);
    for (const place of ['HOST.sluice', 'HOST.dead.jsonl']) expect(stdout).toContain(place);
  }
});
