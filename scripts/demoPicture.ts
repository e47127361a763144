import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { bundled } from './bundled.js';

const root = join(import.meta.dirname, '..');

/** Where the README's pictures of the demo are. */
export const pictures = { dark: join(root, 'docs/demo-dark.svg'), light: join(root, 'docs/demo-light.svg') } as const;

/** Characters in a line of the picture. */
const columns = 108;
/**
 * Runs `sluice demo` as a person would, in colour, and gives the lines of it that the picture shows: all acts, without what it says about
 * a key of your own.
 *
 * @param folder where the demo may leave its file.
 * @param signal ends it early.
 */
export async function demoLines(folder: string, signal?: AbortSignal): Promise<string[]> {
  const output = await outputOf(['-c', 'exec "$0" "$1" demo 2>&1', process.execPath, commandFile()], folder, signal);
  const acts = withoutProgress(output).trimEnd().split('\n\n');
  const end = acts.findIndex((act) => plain(act).startsWith('The file is '));
  if (end < 0) throw new Error(`The demo did not come to its end:\n${output}`);
  return ['$ sluice demo', ...acts.slice(0, end).join('\n\n').split('\n')];
}

/** Without what a terminal shows for a moment only, and a pipe gets as a line every five seconds. */
export function withoutProgress(output: string): string {
  return output.replace(/^[\d,]+ of [\d,]+ rows\b.*\n/gm, '');
}

function commandFile(): string {
  return bundled(new URL('../packages/cli/src/bin.js', import.meta.url));
}

function outputOf(args: readonly string[], cwd: string, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    const env = { PATH: process.env['PATH'], FORCE_COLOR: '1', COLUMNS: String(columns) };
    const stop = signal && { signal };
    const child = spawn('/bin/sh', args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], ...stop });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`The demo ended with exit code ${code ?? 'none'}:\n${output}`));
    });
  });
}

/**
 * What of the demo's lines is the same in every run: its words, with numbers and times as `#`, and durations in any unit. How often the sandbox failed, and which streams
 * changed while it was watched, is up to the machine: of such lines the beginning is kept, and of equal ones the first.
 */
export function shapeOf(lines: readonly string[]): string[] {
  const words = lines.map((line) =>
    plain(line)
      .replace(/█[█▏▎▍▌▋▊▉ ]*/g, '█ ')
      .replace(/(\d{4}-\d\d-\d\d [\d:]+)\s+(?=[^\d\s]).*/, '$1 a change')
      .replace(/(\d{4}-\d\d-\d\d [\d:]+\s+\d[^:]*:).*/, '$1 …')
      .replace(/[\d.,:]*\d/g, '#')
      .replace(/# ms\b/g, '# s')
      .replace(/(failed requests?:|the API refused) .*/, '$1 …')
      .replace(/\b(retr|request|record|time|page|row)(s|y|ies)?\b/g, '$1')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  return words.filter((line, index) => line !== '' && line !== words[index - 1]);
}

function plain(text: string): string {
  return stripVTControlCharacters(text);
}
