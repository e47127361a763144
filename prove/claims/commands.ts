import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { binFor } from '../../packages/cli/test/runSluice.js';
import { inContainer, programIn } from '../../test/kit/container.js';

/** A command that runs in a container. */
export interface Command {
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT') => void;
  /** SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>;
  readonly ended: Promise<CommandEnd>;
}

interface CommandEnd {
  readonly code: number | null;
  readonly stderr: string;
}

/** Starts commands in containers, and notes which of them did not end as they should. */
export class Commands {
  /** One sentence each. */
  readonly faults: string[] = [];
  /** How many were refused, as they should be. */
  refused = 0;
  readonly #env: Readonly<Record<string, string>>;
  readonly #running = new Set<ChildProcess>();

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = { PATH: process.env['PATH'] ?? '', ...env };
  }

  start(host: string, args: readonly string[], cwd: string): Command {
    const [program = '', ...more] = inContainer(host, [process.execPath, binFor({ cwd }), ...args]);
    const child = spawn(program, more, { cwd, env: this.#env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#running.add(child);
    const ended = Promise.all([text(child.stderr), once(child, 'exit')])
      .then(([stderr, [code]]: [string, (number | null)[]]) => ({ code: code ?? null, stderr }))
      .finally(() => this.#running.delete(child));
    return {
      signal: (name) => process.kill(programIn(child), name),
      kill: async () => {
        process.kill(programIn(child), 'SIGKILL');
        await ended;
      },
      ended,
    };
  }

  /** Waits for a command that has to succeed. */
  async expectDone({ ended }: Command): Promise<void> {
    const { code, stderr } = await ended;
    if (code !== 0) this.faults.push(`It ended with ${code}: ${stderr}`);
  }

  /** Waits for a command that has to be refused because of the one in the container `one`. */
  async expectRefused({ ended }: Command): Promise<void> {
    const { code, stderr } = await ended;
    if (code === 1 && stderr.includes('is in use by process 1 on one.')) this.refused += 1;
    else this.faults.push(`It was not refused, but ended with ${code}: ${stderr}`);
  }

  expect(isTrue: boolean, otherwise: string): void {
    if (!isTrue) this.faults.push(otherwise);
  }

  /** Kills those that run. */
  async end(): Promise<void> {
    await Promise.all(
      Array.from(this.#running, async (child) => {
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        await gone;
      }),
    );
  }
}
