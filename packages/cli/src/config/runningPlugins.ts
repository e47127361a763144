import { writeSync } from 'node:fs';
import { exitCodes } from '../faults/exitCodes.js';
import { Failure } from '../faults/failure.js';
import { isInterruptionCode } from '../faults/interruption.js';
import { thrownText } from '../faults/thrownText.js';

/**
 * Runs a command that plugins take part in. It is given a signal that aborts with the one that is handed over, and when a plugin fails
 * where nobody waits for it. `file` is what the plugins' configuration is called in a sentence that says so.
 */
export type RunningPlugins = <T>(
  file: string,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

/**
 * Lets plugins run in a process, which may do whatever they like. What they throw where nobody waits ends the command as a signal does, so
 * that what is open gets closed. One that waits for ever is found out when nothing is left that could wake it, and a process that one ends
 * does not look like one that has done its work.
 */
export function runningPluginsIn(process: NodeJS.Process): RunningPlugins {
  return async (file, signal, run) => {
    const ending = new AbortController();
    let fault: Failure | undefined;
    let giveUp: (reason: Failure) => void = () => undefined;
    const stuck = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    const interrupt = (): void => {
      ending.abort(signal.reason);
    };
    const fail = (cause: unknown): void => {
      fault ??= new Failure(`A plugin of ${file} failed outside of its hooks: ${thrownText(cause)}`, { cause });
      ending.abort(fault);
    };
    const starve = (): void => {
      // It was told to stop before, and does not.
      if (fault) giveUp(fault);
      fault ??= new Failure(`A plugin of ${file} waits for something that never happens.`);
      ending.abort(fault);
      // Else the process would end here, where stopping takes no time.
      setImmediate(() => undefined);
    };
    const leave = (code: number): void => {
      // The second signal does that too.
      if (signal.aborted && isInterruptionCode(code)) return;
      process.exitCode = exitCodes.failed;
      const overBar = process.stderr.isTTY ? '\r\u001b[K' : '';
      writeSync(
        process.stderr.fd,
        `${overBar}sluice: A plugin of ${file} ended the process before the command was done.\n`,
      );
    };
    if (signal.aborted) interrupt();
    signal.addEventListener('abort', interrupt);
    process.on('beforeExit', starve).on('exit', leave);
    process.on('uncaughtException', fail).on('unhandledRejection', fail);
    try {
      const result = await Promise.race([run(ending.signal), stuck]);
      if (fault) throw fault;
      return result;
    } finally {
      signal.removeEventListener('abort', interrupt);
      process.off('beforeExit', starve).off('exit', leave);
      process.off('uncaughtException', fail).off('unhandledRejection', fail);
    }
  };
}
