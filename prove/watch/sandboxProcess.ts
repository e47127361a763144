import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The share of a listing's rows that change between two polls. */
export const changedShare = 0.01;

/** The first message of the process. */
export interface SandboxAddress {
  readonly streamsUrl: string;
  readonly apiKey: string;
}

/** The sandbox's streams, served by a process of their own. */
export interface SandboxProcess extends SandboxAddress, AsyncDisposable {
  /** Changes the status of one row in a hundred, each time of the next ones. */
  change(): Promise<void>;
}

/** `await using` ends it. */
export async function startSandboxProcess(rows: number): Promise<SandboxProcess> {
  const child = fork(fileURLToPath(new URL('sandbox.ts', import.meta.url)), [String(rows)]);
  const [address]: SandboxAddress[] = await once(child, 'message');
  return {
    ...address!,
    change: async () => {
      child.send('change');
      await once(child, 'message');
    },
    [Symbol.asyncDispose]: async () => {
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    },
  };
}
