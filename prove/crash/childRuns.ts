import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { bundled } from '../../scripts/bundled.js';
import type { ChildMessage, ExportOrder } from './exportOrder.js';
import { withoutProxies } from '../../test/kit/environment.js';

/** How a run ended. */
export type RunEnd =
  | { readonly how: 'killed'; readonly where: string }
  | { readonly how: 'done'; readonly rows: number }
  | { readonly how: 'failed'; readonly why: string };

/** A run in a process of its own. */
export interface ChildRun {
  /** Kills it with SIGKILL. */
  readonly kill: () => void;
  /** Settles when the process has exited. */
  readonly ended: Promise<RunEnd>;
}

const timeout = 60_000;

/** Starts processes, and keeps track of the running ones. */
export class ChildRuns {
  readonly #running = new Map<ChildProcess, Promise<unknown>>();
  #isEnded = false;

  start(order: ExportOrder): ChildRun {
    if (this.#isEnded) throw new Error('No more runs are started.');
    const script = bundled(new URL('child.ts', import.meta.url));
    const child = spawn(process.execPath, [script, JSON.stringify(order)], {
      env: withoutProxies(process.env),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout,
    });
    let isKilled = false;
    const ended = endOf(child, () => isKilled).finally(() => this.#running.delete(child));
    this.#running.set(child, ended);
    return {
      kill: () => {
        isKilled = child.kill('SIGKILL');
      },
      ended,
    };
  }

  /** Ends all running processes, waits for their exit, and starts no others. */
  async end(): Promise<void> {
    this.#isEnded = true;
    for (const child of this.#running.keys()) child.kill('SIGKILL');
    await Promise.allSettled(this.#running.values());
  }
}

async function endOf(child: ChildProcess, isKilled: () => boolean): Promise<RunEnd> {
  const [stdout, stderr, [code, signal]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'exit'),
  ]);
  const message: ChildMessage | undefined = stdout === '' ? undefined : JSON.parse(stdout);
  if (message && 'diesAt' in message) return { how: 'killed', where: message.diesAt };
  if (isKilled()) return { how: 'killed', where: 'at a request' };
  if (code === 0 && message && 'rows' in message) return { how: 'done', rows: message.rows };
  if (message && 'error' in message) return { how: 'failed', why: message.error };
  if (signal === 'SIGTERM') return { how: 'failed', why: `it did not end within ${timeout / 1_000} s` };
  return { how: 'failed', why: `exit code ${code}, signal ${signal}: ${stderr}` };
}
