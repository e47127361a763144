import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import type { TestMessage, TestOrder } from './testOrder.js';

/** How a test run ended: `enough` if its listener said so, `hung` if it was silent for too long. */
export type TestRunEnd =
  { readonly how: 'ended' | 'enough' | 'hung' } | { readonly how: 'died'; readonly stderr: string };

export interface TestListener {
  /** Ends the run by returning `enough`. */
  readonly on: (message: Exclude<TestMessage, { readonly is: 'ended' }>) => 'enough' | undefined;
  /** Ms until the next message, at most. */
  readonly limitOf: (message: TestMessage) => number;
}

const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url));
const startLimit = 60_000;

/** Runs tests, one run after the other, each in processes of its own, which are removed with their temporary files. */
export class TestRuns {
  readonly #folder: string;
  #running: ChildProcess | undefined;
  #isEnded = false;

  /** @param folder exists and is empty. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async run(order: TestOrder, { on, limitOf }: TestListener): Promise<TestRunEnd> {
    if (this.#isEnded) throw new Error('No more tests are run.');
    const temporary = join(this.#folder, 't');
    const path = join(this.#folder, 'order.json');
    await mkdir(temporary);
    await writeFile(path, JSON.stringify(order));
    // In a process group of its own, so that nothing outlives it: neither hanging workers nor processes that a test
    // started.
    const child = spawn(process.execPath, [vitest, 'run', '--config', config], {
      env: { ...process.env, SLUICE_TEST_ORDER: path, TMPDIR: temporary },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      detached: true,
    });
    this.#running = child;
    const stderr = child.stderr ? text(child.stderr) : Promise.resolve('');
    const how = await new Promise<'ended' | 'enough' | 'hung' | 'died'>((resolve) => {
      const timeout = (ms: number): NodeJS.Timeout => setTimeout(() => resolve('hung'), ms).unref();
      let timer = timeout(startLimit);
      child.on('message', (message: TestMessage) => {
        if (message.is === 'ended') resolve('ended');
        else if (on(message) === 'enough') resolve('enough');
        else {
          clearTimeout(timer);
          timer = timeout(limitOf(message));
        }
      });
      child.once('exit', () => {
        clearTimeout(timer);
        resolve('died');
      });
    });
    await this.#kill(child);
    await rm(temporary, { recursive: true, maxRetries: 3 });
    return how === 'died' ? { how, stderr: await stderr } : { how };
  }

  /** Ends the current run, and starts no more. */
  async end(): Promise<void> {
    this.#isEnded = true;
    if (this.#running) await this.#kill(this.#running);
  }

  async #kill(child: ChildProcess): Promise<void> {
    const gone = new Promise((resolve) => child.once('close', resolve));
    const isGone = child.exitCode !== null || child.signalCode !== null;
    try {
      // The process itself may have exited before others of its group.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group is empty.
    }
    if (!isGone) await gone;
  }
}
