import { Console } from 'node:console';
import { writeSync } from 'node:fs';
import { exitCodes, Failure, interruptingSignals, isInterruptionCode, UsageError } from '../errors/errors.js';
import { explainLoadingFailure, thrownText } from '../errors/thrown.js';

/** Runs foreign code, such as a configuration file, until it settles. `name` is its name in error messages. */
export type ForeignCode = <T>(name: string, run: () => Promise<T>) => Promise<T>;

/**
 * Guards the process against foreign code. While it runs, signals end the process at once, since an endless loop would
 * block our listeners. Uncaught errors reject. So does code that waits forever: the event loop is then empty. If the
 * code exits the process, the exit code says that nothing was done.
 *
 * After a failure only that is reported: what the code still throws then is ignored. Node would print it as it is, with
 * what is secret in it.
 *
 * `console` writes to stderr from then on, since stdout is for data only.
 */
export function foreignCodeIn(process: NodeJS.Process, console: object): ForeignCode {
  return async (name, run) => {
    Object.assign(console, new Console(process.stderr, process.stderr));
    const signalListeners = interruptingSignals.flatMap((signal) =>
      process.listeners(signal).map((listener) => ({ signal, listener })),
    );
    let rejectRun: (reason: unknown) => void = () => undefined;
    const failed = new Promise<never>((_, reject) => {
      rejectRun = reject;
    });
    const onIdle = (): void => {
      rejectRun(new UsageError(`${name} waits for something that never happens.`));
    };
    const onExit = (): void => {
      writeSync(process.stderr.fd, `sluice: ${name} ended the process, so nothing was done.\n`);
      process.exitCode = exitCodes.wrongUsage;
    };
    const onError = (cause: unknown): void => {
      rejectRun(new UsageError(explainLoadingFailure(name, cause), { cause }));
    };
    for (const { signal, listener } of signalListeners) process.off(signal, listener);
    process.on('beforeExit', onIdle).on('exit', onExit).on('uncaughtException', onError);
    try {
      const result = await Promise.race([run(), failed]);
      process.off('uncaughtException', onError);
      return result;
    } finally {
      process.off('beforeExit', onIdle).off('exit', onExit);
      for (const { signal, listener } of signalListeners) process.on(signal, listener);
    }
  };
}

/**
 * Runs a command that uses plugins. `run` receives a signal that also aborts when a plugin fails outside of its hooks.
 * `file` is the configuration's name in error messages.
 */
export type RunningPlugins = <T>(
  file: string,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
) => Promise<T>;

/**
 * Guards the process against plugins. An uncaught error of theirs ends the command like a signal, so that everything is
 * closed; so does waiting forever. If a plugin exits the process, the exit code says that the command failed.
 * What it throws after the command has ended is ignored: Node would print it as it is, with what is secret in it.
 */
export function runningPluginsIn(process: NodeJS.Process): RunningPlugins {
  return async (file, signal, run) => {
    const ending = new AbortController();
    let failure: Failure | undefined;
    let rejectRun: (reason: Failure) => void = () => undefined;
    const stuck = new Promise<never>((_, reject) => {
      rejectRun = reject;
    });
    const onAbort = (): void => {
      ending.abort(signal.reason);
    };
    const onError = (cause: unknown): void => {
      failure ??= new Failure(`A plugin of ${file} failed outside of its hooks: ${thrownText(cause)}`, { cause });
      ending.abort(failure);
    };
    const onIdle = (): void => {
      // The command was already aborted, and does not end.
      if (failure) rejectRun(failure);
      failure ??= new Failure(`A plugin of ${file} waits for something that never happens.`);
      ending.abort(failure);
      // Another turn of the event loop: without it, the process exits if the command ends without any I/O.
      setImmediate(() => undefined);
    };
    const onExit = (code: number): void => {
      // A second signal exits the process too.
      if (signal.aborted && isInterruptionCode(code)) return;
      process.exitCode = exitCodes.failed;
      const overBar = process.stderr.isTTY ? '\r\u001b[K' : '';
      writeSync(
        process.stderr.fd,
        `${overBar}sluice: A plugin of ${file} ended the process before the command was done.\n`,
      );
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    process.on('beforeExit', onIdle).on('exit', onExit);
    process.on('uncaughtException', onError).on('unhandledRejection', onError);
    try {
      const result = await Promise.race([run(ending.signal), stuck]);
      if (failure) throw failure;
      return result;
    } finally {
      signal.removeEventListener('abort', onAbort);
      process.off('beforeExit', onIdle).off('exit', onExit);
    }
  };
}
