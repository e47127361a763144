import { Console } from 'node:console';
import { writeSync } from 'node:fs';
import { exitCodes } from '../faults/exitCodes.js';
import { interruptingSignals } from '../faults/interruption.js';
import { loadingFailed } from '../faults/thrownText.js';
import { UsageError } from '../faults/usageError.js';
import { commonJsFile, commonJsSentence } from './commonJsFault.js';

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
      // Of a file in CommonJS that a module imports, Node says so here before the import fails.
      const misread = commonJsFile(cause);
      const sentence = misread === undefined ? undefined : commonJsSentence(misread, misread);
      stray(new UsageError(sentence ?? loadingFailed(name, cause), { cause }));
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
