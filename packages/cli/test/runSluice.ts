import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Sandbox } from '@sluice/sandbox';
import { bundled } from '../../../scripts/bundled.js';
import { onTestEnd } from '../../../scripts/testScope.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { main } from '../src/program.js';
import { testEnvironment } from './testEnvironment.js';

/** What came of a command. */
export interface Outcome {
  /** The exit code; `null` if a signal killed it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a command is run. */
export interface RunOptions {
  /** Its environment; a process of its own has `PATH` besides. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Whether a process of its own is the command as it is installed, of which `npm run build` makes the files. */
  readonly isInstalled?: boolean;
  /** What it reads from stdin. */
  readonly input?: string;
}

/** The command as it is installed. Build first. */
const installed = join(import.meta.dirname, '..', 'dist', 'bin.js');

/**
 * The command's file: in one piece, of the sources, which starts in less than half the time. With a configuration the installed one, since
 * its plugins have to find the very packages that the command runs with.
 */
export function binFor({ isInstalled = false, cwd }: RunOptions = {}): string {
  const isConfigured = cwd !== undefined && readdirSync(cwd).some((name) => name.startsWith('sluice.config.'));
  return isInstalled || isConfigured ? installed : bundled(new URL('../src/bin.js', import.meta.url));
}

/** A command that runs. */
export interface Running {
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly ended: Promise<Outcome>;
}

/** With a folder for the limits that outlive a command, unless it is given one. */
function withState(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return 'XDG_STATE_HOME' in env || 'HOME' in env ? env : { XDG_STATE_HOME: temporaryFolder(), ...env };
}

/** Starts a program; it does not outlive the test. */
function start(program: string, args: readonly string[], { env = {}, cwd, input }: RunOptions = {}): Running {
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env['PATH'], ...withState(env) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  onTestEnd(() => {
    child.kill('SIGKILL');
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = new Promise<Outcome>((resolve, reject) => {
    let stderr = '';
    const stdout: Buffer[] = [];
    child.stdout.on('data', (data: Buffer) => stdout.push(data));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      resolve({ code, stdout: Buffer.concat(stdout).toString(), stderr });
    });
  });
  return { process: child, ended };
}

/** Starts `sluice` in a process of its own: what signals, pipes, exit codes and processes beside each other need. */
export function startSluice(args: readonly string[], options?: RunOptions): Running {
  return start(process.execPath, [binFor(options), ...args], options);
}

/** Runs `sluice` to its end, in this process: all that it does shows here as well, and a start of Node takes a quarter of a second. */
export async function sluice(
  args: readonly string[],
  { env = {}, cwd = process.cwd(), input }: Omit<RunOptions, 'isInstalled'> = {},
): Promise<Outcome> {
  const environment = testEnvironment({
    folder: cwd,
    variables: withState(env),
    ...(input !== undefined && { input }),
  });
  const code = await main(args, environment);
  return { code, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}

/**
 * Runs a line of bash to its end, in which `"$@"` is the command `sluice` with these arguments. `--norc`, since a bash whose stdin is
 * a socket takes itself for a remote shell and reads its settings.
 */
export function bash(line: string, args: readonly string[], options?: RunOptions): Promise<Outcome> {
  return start('bash', ['--norc', '-c', line, 'bash', process.execPath, binFor(options), ...args], options).ended;
}

/** Starts a line of `sh`, as somebody pastes it. */
export function startShell(line: string, options?: RunOptions): Running {
  return start('sh', ['-c', line], options);
}

/** The environment variables that lead to a sandbox. */
export function settingsFor(
  sandbox: Pick<Sandbox, 'apiKey' | 'streamsUrl' | 'aptosUrl'>,
): Readonly<Record<string, string>> {
  return {
    SLUICE_API_KEY: sandbox.apiKey,
    SLUICE_STREAMS_URL: sandbox.streamsUrl,
    SLUICE_APTOS_URL: sandbox.aptosUrl,
  };
}
