import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { bundled } from '../../../../scripts/bundled.js';

/** A script in a process of its own, which ends with the test at the latest. */
export interface Child {
  readonly process: ChildProcess;
  /** The next message that nobody has taken yet. */
  readonly next: () => Promise<string>;
  readonly tell: (message: string) => void;
  /** SIGKILL; resolves when it is gone. */
  readonly kill: () => Promise<void>;
}

/** @param script its name in the folder `children`, or where it is. */
export function forkChild(script: string | URL, ...args: string[]): Child {
  const child = fork(bundled(new URL(script, new URL('children/', import.meta.url))), args, { execArgv: [] });
  const gone = once(child, 'exit');
  const said: string[] = [];
  let wake: () => void = () => undefined;
  child.on('message', (message) => {
    said.push(String(message));
    wake();
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  onTestEnd(kill);
  return {
    process: child,
    kill,
    tell: (message) => child.send(message),
    next: async () => {
      while (said.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return said.shift() ?? '';
    },
  };
}
