import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { WalkOrder, WalkReport } from './hostileWalks.js';
import type { ChildSettings, HeapReport, Order, StormOrder, StormReport } from './order.js';
import { withoutProxies } from '../../test/kit/environment.js';

/** The child's heap in megabytes. */
export const childHeap = 128;
/** Ms after which a silent child counts as hanging: two attempts at a response that never comes take 40 s. */
const timeout = 90_000;

/** That a child has died, and its last words. */
export interface Death {
  readonly died: string;
}

/** The process that walks through hostile responses. If it dies, a new one replaces it. */
export class HostileChild implements AsyncDisposable {
  /** How many there were. */
  lives = 0;
  readonly #settings: ChildSettings;
  #isEnded = false;
  #child: { readonly process: ChildProcess; readonly gone: Promise<string> } | undefined;

  constructor(settings: ChildSettings) {
    this.#settings = settings;
  }

  ask(order: WalkOrder & { readonly kind: 'walk' }): Promise<WalkReport | Death>;
  ask(order: StormOrder): Promise<StormReport | Death>;
  ask(order: { readonly kind: 'heap' }): Promise<HeapReport | Death>;
  async ask(order: Order): Promise<object> {
    if (this.#isEnded) return { died: 'It was ended.' } satisfies Death;
    this.#child ??= await this.#start();
    const { process: child, gone } = this.#child;
    const answer = once(child, 'message');
    child.send(order);
    let isHanging = false;
    const watchdog = setTimeout(() => {
      isHanging = true;
      child.kill('SIGKILL');
    }, timeout);
    try {
      return await Promise.race([
        answer.then(([report]) => report),
        gone.then((why): Death => ({ died: isHanging ? `It hung: no report within ${timeout / 1_000} s.` : why })),
      ]);
    } finally {
      clearTimeout(watchdog);
      answer.catch(() => undefined);
      if (child.exitCode !== null || child.signalCode !== null) this.#child = undefined;
    }
  }

  /** It is not replaced any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    this.#child?.process.kill('SIGKILL');
    await this.#child?.gone;
    this.#child = undefined;
  }

  async #start(): Promise<{ readonly process: ChildProcess; readonly gone: Promise<string> }> {
    this.lives += 1;
    const child = fork(fileURLToPath(new URL('child.ts', import.meta.url)), [JSON.stringify(this.#settings)], {
      execArgv: [...process.execArgv, `--max-old-space-size=${childHeap}`, '--expose-gc'],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: withoutProxies(process.env),
    });
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (complaint = (complaint + text).slice(-4_000)));
    const gone = once(child, 'close').then(
      ([code, signal]) => `It ended with ${signal ?? `code ${code}`}: ${complaint}`,
    );
    await Promise.race([
      once(child, 'message'),
      gone.then((why) => {
        throw new Error(`The child could not start. ${why}`);
      }),
    ]);
    return { process: child, gone };
  }
}
