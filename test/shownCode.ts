import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '@sluice/sandbox';
import { binFor } from '../packages/cli/test/runSluice.js';
import { onTestEnd } from '../scripts/testScope.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

const root = join(import.meta.dirname, '..');

/** Complete programs, and plugins with their tests, as paths from the repository's folder. */
export const examples: readonly string[] = ['examples', 'examples/plugins'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
);

/** The code blocks of a language on a page. */
export function codeIn(page: string, language: string): string[] {
  return [...page.matchAll(/^```(\w*)\n(.*?)^```/gms)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  );
}

/** Whether a code block is part of an example, verbatim except for its indentation. */
export function standsInExample(code: string): boolean {
  return examples.some((name) => withoutIndent(readFileSync(join(root, name), 'utf8')).includes(withoutIndent(code)));
}

function withoutIndent(code: string): string {
  return code.replace(/^\s+/gm, '');
}

/** The outcome of a shell snippet. */
export interface ShownOutcome {
  /** The exit code; 0 for a watch that was stopped and said so. */
  readonly code: number | null;
  readonly output: string;
  /** What it sent with `mail`. */
  readonly mails: readonly string[];
}

/** Where a shell snippet runs. */
interface ShownPlace {
  readonly sandbox: Sandbox;
  readonly cwd: string;
  /** More of its environment. */
  readonly variables?: Readonly<Record<string, string>>;
}

/**
 * Runs a shell snippet as a reader would paste it, against a sandbox, with a `mail` that only records its input. A
 * watch that would run forever is stopped as soon as it reports that it is watching.
 */
export function runShown(code: string, { sandbox, cwd, variables }: ShownPlace): Promise<ShownOutcome> {
  // A database's driver is found from where the command is installed.
  const bin = binFor({ cwd, isInstalled: code.includes('.sqlite') });
  const commands = temporaryFolder();
  const sent = join(commands, 'sent');
  writeFileSync(sent, '');
  const write = (name: string, script: string): void => {
    writeFileSync(join(commands, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  write('sluice', `exec '${process.execPath}' '${bin}' "$@"`);
  write('mail', `cat >> '${sent}'`);
  const child = spawn('bash', ['--norc', '-c', code], {
    cwd,
    detached: true,
    env: {
      HOME: cwd,
      PATH: `${commands}:${process.env['PATH'] ?? ''}`,
      SLUICE_API_KEY: sandbox.apiKey,
      SLUICE_APTOS_URL: sandbox.aptosUrl,
      SLUICE_STREAMS_URL: sandbox.streamsUrl,
      ...variables,
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
      // If a test took too long, its folders no longer exist.
      const mails = existsSync(sent) ? readFileSync(sent, 'utf8').split('\n').slice(0, -1) : [];
      resolve({ code: isCleanStop ? 0 : exitCode, output, mails });
    });
  });
}
