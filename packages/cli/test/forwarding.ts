import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Delivery, Receiver, Sandbox } from '@sluice/sandbox';
import { main } from '../src/program.js';
import { settingsFor, type Outcome } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testEnvironment } from './testEnvironment.js';

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const otherSecret = `whsec_${Buffer.from('another secret of 24 byte').toString('base64')}`;

/** What stands behind an endpoint's origin, and must be seen by nobody else. */
export const tokenPath = '/hooks/t0ken-4f5d77a1e0c2';

/** A folder with a file that holds the secret. */
export function folderWithSecret(...secrets: readonly string[]): string {
  const folder = temporaryFolder();
  writeFileSync(
    join(folder, 'secret'),
    (secrets.length === 0 ? [secret] : secrets).map((line) => `${line}\n`).join(''),
  );
  return folder;
}

/** The options that lead to a receiver on this machine. */
export function forwardTo({ url }: Pick<Receiver, 'url'>, option: '--forward' | '--to' = '--forward'): string[] {
  return [option, url + tokenPath, '--allow-address', '127.0.0.1', '--secret-file', 'secret'];
}

/** The arguments that forward all holdings of a sandbox. */
export function forwardArgs(
  sandbox: Pick<Sandbox, 'owners'>,
  receiver: Pick<Receiver, 'url'>,
  ...more: readonly string[]
): string[] {
  const pace = ['--rate', 'unlimited', '--commit-every', '4'];
  return ['nfts', 'export', '--owner', ...sandbox.owners, ...forwardTo(receiver), ...pace, ...more];
}

/** The arguments that forward the changes of a sandbox's streams, as fast as it goes. */
export function forwardWatchArgs(receiver: Pick<Receiver, 'url'>, ...more: readonly string[]): string[] {
  return ['streams', 'watch', ...forwardTo(receiver), '--every', '5ms', '--rate', 'unlimited', ...more];
}

/** Runs `sluice` in this process: most of what it does shows there as well, and in a tenth of the time. */
export async function here(
  sandbox: Pick<Sandbox, 'apiKey' | 'streamsUrl' | 'aptosUrl'>,
  folder: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const environment = testEnvironment({ folder, variables: { ...settingsFor(sandbox), ...variables } });
  const code = await main(args, environment);
  return { code, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}

/** Whether a delivery carries the record of a number. */
export function holds({ records }: Delivery, sequence: number): boolean {
  return records.some(({ body }) => body.includes(`"sequence":${String(sequence)},`));
}

/** What was accepted, as rows, in the order of their text. */
export function rowsAt({ accepted }: Receiver): string[] {
  return [...accepted.values()]
    .map(({ body }) => JSON.stringify((JSON.parse(body) as { data: unknown }).data))
    .toSorted();
}

/** All holdings of a sandbox, in the order of their text. */
export function rowsOf(sandbox: Sandbox): string[] {
  return [...sandbox.holdingsOf(sandbox.owners)].map((row) => JSON.stringify(row)).toSorted();
}

/** The names that a forward gives to what it keeps, for a receiver. */
export function placesFor({ port }: Pick<Receiver, 'port'>): { readonly state: string; readonly dead: string } {
  const host = `127.0.0.1-${String(port)}`;
  return { state: `${host}.sluice`, dead: `${host}.dead.jsonl` };
}

/** What lies in a folder besides the secret, and the records of exports that have finished. */
export function leftIn(folder: string): string[] {
  const isFinished = (name: string): boolean => {
    const path = join(folder, name);
    if (!statSync(path).isDirectory() || readdirSync(path).join() !== 'checkpoint') return false;
    return readFileSync(join(path, 'checkpoint'), 'utf8').includes('finishedAt');
  };
  return readdirSync(folder)
    .filter((name) => name !== 'secret' && !isFinished(name))
    .toSorted();
}

export function eventsIn(stderr: string): Record<string, unknown>[] {
  return stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
