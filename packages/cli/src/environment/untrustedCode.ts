import { Console } from 'node:console';
import { writeSync } from 'node:fs';
import { exitCodes, Failure, interruptingSignals, isInterruptionCode, UsageError } from '../errors/errors.js';
import { loadingFailed, thrownText } from '../errors/thrown.js';

/** Runs code of others until it has settled. `name` is what it is called in a sentence that says what it did instead. */
export type ForeignCode = <T>(name: string, run: () => Promise<T>) => Promise<T>;

/**
 * Lets code of others run in a process, such as a configuration file, which may do whatever it likes. Meanwhile a signal ends the process
 * at once, since a loop would never come to our listeners. What is thrown where nobody waits rejects. Code that waits for ever is found
 * out when nothing is left that could wake it, and a process that it ends does not look like one that has done its work.
 *
 * From then on `console` writes to stderr, as stdout carries data and nothing else.
 */
export function foreignCodeIn(process: NodeJS.Process, console: object): ForeignCode {
  return async (name, run) => {
    Object.assign(console, new Console(process.stderr, process.stderr));
    const ours = interruptingSignals.flatMap((signal) =>
      process.listeners(signal).map((listener) => ({ signal, listener })),
    );
    let stray: (reason: unknown) => void = () => undefined;
    const strayed = new Promise<never>((_, reject) => {
      stray = reject;
    });
    const starve = (): void => {
      stray(new UsageError(`${name} waits for something that never happens.`));
    };
    const leave = (): void => {
      writeSync(process.stderr.fd, `sluice: ${name} ended the process, so nothing was done.\n`);
      process.exitCode = exitCodes.wrongUsage;
    };
    const fail = (cause: unknown): void => {
      stray(new UsageError(loadingFailed(name, cause), { cause }));
    };
    for (const { signal, listener } of ours) process.off(signal, listener);
    process.on('beforeExit', starve).on('exit', leave).on('uncaughtException', fail);
    try {
      return await Promise.race([run(), strayed]);
    } finally {
      process.off('beforeExit', starve).off('exit', leave).off('uncaughtException', fail);
      for (const { signal, listener } of ours) process.on(signal, listener);
    }
  };
}

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
