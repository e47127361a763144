import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bundled } from '../../../../scripts/bundled.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { withoutProxies } from '../../../../test/kit/environment.js';

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Options for Node.js. */
  readonly node?: readonly string[];
  /** Where it runs. Default: the folder of its script. */
  readonly cwd?: string;
  /** When this resolves, the child gets a message. */
  readonly nudge?: Promise<void>;
  /** Kills the child when it aborts. */
  readonly kill?: AbortSignal;
}

export interface ChildOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script in a process of its own, to its end. It does not outlive the test. */
export function runChild(script: URL, options: ChildOptions = {}): Promise<ChildOutcome> {
  const { args = [], env = {}, node = [], cwd = fileURLToPath(new URL('./', script)), nudge, kill } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...node, bundled(script), ...args], {
      cwd,
      env: { ...withoutProxies(process.env), ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    onTestEnd(() => child.kill('SIGKILL'));
    let stdout = '';
    let stderr = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    kill?.addEventListener('abort', () => child.kill('SIGKILL'));
    void nudge?.then(() => child.send('go on'));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      resolve({ code, signal, stdout, stderr });
    });
  });
}
