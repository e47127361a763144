import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder: every command runs there. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** A pnpm of our own (see install.mjs), so that nothing global is needed. turbo calls it too. */
export const pnpmFolder = join(root, 'node_modules/.cache/pnpm');

const bins = [join(pnpmFolder, 'node_modules/.bin'), join(root, 'node_modules/.bin')];
const env = { ...process.env, PATH: [...bins, process.env.PATH].join(delimiter), TURBO_TELEMETRY_DISABLED: '1' };

/** Runs a command that has the terminal, and gives its exit code (128 + n after signal n, as shells do). */
export async function run(command, args, { stdio = 'inherit', onOutput } = {}) {
  const child = spawn(command, args, { cwd: root, env, stdio, shell: process.platform === 'win32' });
  child.stdout?.on('data', onOutput);
  child.stderr?.on('data', onOutput);

  // Ctrl-C and a closed terminal reach the child by themselves: passed on, they would come twice, and the second stops without care.
  let interruptedBy;
  const note = (signal) => (interruptedBy = signal);
  const stop = () => child.kill(note('SIGTERM'));
  process.on('SIGINT', note).on('SIGHUP', note).on('SIGTERM', stop);
  // The shell that npm puts above us passes nothing on. When it is gone, so are we.
  const shell = process.ppid;
  const watch = setInterval(() => process.ppid === shell || stop(), 250);
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      // turbo ends with 0 when it is interrupted: that is no success.
      child.once('close', (code, signal) => resolve(code || signalCode(signal ?? interruptedBy)));
    });
  } finally {
    clearInterval(watch);
    process.off('SIGINT', note).off('SIGHUP', note).off('SIGTERM', stop);
  }
}

const signalCode = (signal) => (signal ? 128 + constants.signals[signal] : 0);

/** Runs a command in silence. Where it fails, all it said is shown, and this process ends with its exit code. */
export async function quietly(command, args) {
  const said = [];
  const code = await run(command, args, { stdio: ['ignore', 'pipe', 'pipe'], onOutput: (chunk) => said.push(chunk) });
  if (code === 0) return;
  const isInterrupted = code > 128;
  if (!isInterrupted) {
    process.stderr.write(Buffer.concat(said));
    console.error(`\nFailed with exit code ${code}: ${[command, ...args].join(' ')}`);
  }
  process.exit(code);
}
