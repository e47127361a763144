import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '@sluice/sandbox';
import { binFor } from '../packages/cli/test/runSluice.js';
import { onTestEnd } from '../scripts/testScope.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

const root = join(import.meta.dirname, '..');

/** Programs that run as they stand, and plugins with their tests, as paths from the repository's folder. */
export const examples: readonly string[] = ['examples', 'examples/plugins'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

/** The pieces of a language that a page shows. */
export function codeIn(page: string, language: string): string[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```/gms)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  );
}

/** Whether a piece stands in one of the examples, word for word but for how far it is moved in. */
export function standsInExample(code: string): boolean {
  return examples.some((name) => withoutIndent(readFileSync(join(root, name), 'utf8')).includes(withoutIndent(code)));
}

function withoutIndent(code: string): string {
  return code.replace(/^\s+/gm, '');
}

/** What came of a piece of shell. */
export interface ShownOutcome {
  /** The exit code; 0 for a watch that was stopped and said so. */
  readonly code: number | null;
  readonly output: string;
  /** What it sent with `mail`. */
  readonly mails: readonly string[];
}

/**
 * Runs a piece of shell as somebody pastes it, against a sandbox, with a `mail` that only notes what it is given. A watch that goes on
 * for ever is stopped as soon as it says that it watches.
 */
export function runShown(
  code: string,
  { sandbox, cwd }: { readonly sandbox: Sandbox; readonly cwd: string },
): Promise<ShownOutcome> {
  const commands = temporaryFolder();
  const sent = join(commands, 'sent');
  writeFileSync(sent, '');
  const write = (name: string, script: string): void => {
    writeFileSync(join(commands, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  write('sluice', `exec '${process.execPath}' '${binFor({ cwd })}' "$@"`);
  write('mail', `cat >> '${sent}'`);
  const child = spawn('bash', ['--norc', '-c', code], {
    ...{ cwd, detached: true },
    env: {
      PATH: `${commands}:${process.env['PATH'] ?? ''}`,
      SLUICE_API_KEY: sandbox.apiKey,
      SLUICE_APTOS_URL: sandbox.aptosUrl,
      SLUICE_STREAMS_URL: sandbox.streamsUrl,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const signal = (name: NodeJS.Signals): void => {
    if (child.pid === undefined || child.exitCode !== null) return;
    process.kill(-child.pid, name);
  };
  onTestEnd(() => {
    signal('SIGKILL');
  });
  return new Promise((resolve, reject) => {
    let output = '';
    let isStopped = false;
    const hear = (data: Buffer): void => {
      output += data.toString();
      if (isStopped || code.includes('--polls') || !output.includes('  Watching ')) return;
      isStopped = true;
      signal('SIGINT');
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('error', reject);
    child.on('close', (exitCode) => {
      const isCleanStop = isStopped && exitCode === 130 && output.includes('Stopped by SIGINT.');
      // A test that took too long is over by now, and its folders are gone.
      const mails = existsSync(sent) ? readFileSync(sent, 'utf8').split('\n').slice(0, -1) : [];
      resolve({ code: isCleanStop ? 0 : exitCode, output, mails });
    });
  });
}
