import { fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { KillOrder } from './killOrder.js';

/** How a run ended: where it killed itself, by which signal, or on its own. */
export type KillEnd =
  | { readonly how: 'died'; readonly where: string }
  | { readonly how: 'killed' }
  | { readonly how: 'done' }
  | { readonly how: 'failed'; readonly why: string };

/** A run in a process of its own, which waits for the message to start. */
export class KillRun {
  readonly diesByItself: boolean;
  /** Settles when the process has exited. */
  readonly ended: Promise<KillEnd>;
  readonly #child;
  readonly #ready: Promise<unknown>;

  constructor(order: KillOrder) {
    this.diesByItself = order.dies !== undefined;
    this.#child = fork(fileURLToPath(new URL('killed.ts', import.meta.url)), [JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#ready = once(this.#child, 'message');
    // If it dies before it is ready, its end is reported.
    this.#ready.catch(() => undefined);
    this.ended = this.#end();
  }

  async go(): Promise<void> {
    await Promise.race([this.#ready, this.ended]);
    if (this.#child.connected) this.#child.send('go');
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #end(): Promise<KillEnd> {
    const { stdout, stderr } = this.#child;
    const [said, complained, [code, signal]] = await Promise.all([
      stdout ? text(stdout) : '',
      stderr ? text(stderr) : '',
      once(this.#child, 'exit'),
    ]);
    if (said !== '') return { how: 'died', where: JSON.parse(said).diesAt };
    if (signal === 'SIGKILL') return { how: 'killed' };
    return code === 0 ? { how: 'done' } : { how: 'failed', why: complained };
  }
}
