import { basename, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { abortOnSignals, type Interruption, interruptingSignals } from '../errors/errors.js';
import { quoteForShell } from '../terminal/text.js';
import { isClosedAtStart, type Output, openOutput, type OutputStream, fileStream } from './output.js';
import { SecretFiles } from './secretFiles.js';
import { type ForeignCode, foreignCodeIn, type RunningPlugins, runningPluginsIn } from './untrustedCode.js';

/** What a command uses of its process, so that a test can replace it. */
export interface Environment {
  readonly variables: Variables;
  readonly stdin: Readable;
  /** For data only. */
  readonly stdout: Output;
  /** For progress, hints and errors. */
  readonly stderr: Output;
  /** Aborts with an `Interruption`, or with the error of a plugin that failed outside of its hooks. */
  readonly signal: AbortSignal;
  /** Aborts the signal. */
  readonly interrupt: (reason: Interruption) => void;
  /** When the time of the command is over, in ms by the monotonic clock. Absent without `--max-time`. */
  readonly endsAt?: number;
  /** Tells the monitor of `--ping` that a watch is well. Absent without one. */
  readonly pingWell?: () => void;
  /** The folder that relative paths refer to. */
  readonly folder: string;
  /** How to call this command from a shell here. */
  readonly command: string;
  /** Whether the command that runs has a flag, e.g. `--restart`: people are not advised to use others. */
  readonly hasFlag: (flag: string) => boolean;
  /** Without the `v`. */
  readonly nodeVersion: string;
  /** Texts to redact from all output. Code that reads another key adds it. */
  readonly secrets: Set<string>;
  readonly secretFiles: SecretFiles;
  /** Sentences to report together with the progress. */
  readonly warnings: Set<string>;
  readonly foreignCode: ForeignCode;
  readonly runningPlugins: RunningPlugins;
}

/** The environment of a real process. It handles the process's signals. */
export function processEnvironment(process: NodeJS.Process): Environment {
  const secretFiles = new SecretFiles();
  // A terminal sends SIGHUP when it closes. Without one, it is for daemons.
  const isOnTerminal = [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
  const signals = interruptingSignals.filter((name) => isOnTerminal || name !== 'SIGHUP');
  const interrupted = new AbortController();
  const signal = abortOnSignals(process, () => performance.now(), signals, interrupted);
  if (!isOnTerminal) process.on('SIGHUP', () => void secretFiles.readAgain());
  // With a listener, a write beyond `ulimit -f` fails with EFBIG; without one, the signal kills the process.
  process.on('SIGXFSZ', () => undefined);
  // The write itself reports a broken pipe. Without a listener the event would also end the process with a stack trace.
  const stdout: OutputStream = (process.stdout.isTTY ? undefined : fileStream(process.stdout.fd)) ?? process.stdout;
  for (const stream of [stdout, process.stdout, process.stderr]) stream.on('error', () => undefined);
  const stderr = openOutput(process.stderr, process.env);
  // A second signal exits without the command.
  process.on('exit', () => stderr.showLine(''));
  const key = process.env['SLUICE_API_KEY']?.trim();
  const folder = currentFolder(process);
  return {
    variables: process.env,
    stdin: process.stdin,
    stdout: openOutput(stdout, process.env, isClosedAtStart(process.stdout.fd)),
    stderr,
    signal,
    interrupt: (reason) => interrupted.abort(reason),
    folder,
    command: nameCommand(process.argv[1] ?? 'sluice', folder),
    hasFlag: () => true,
    nodeVersion: process.versions.node,
    secrets: new Set(key ? [key] : []),
    secretFiles,
    warnings: new Set(),
    foreignCode: foreignCodeIn(process, console),
    runningPlugins: runningPluginsIn(process),
  };
}

/** Ends the process if the folder was removed: no path leads anywhere then. */
function currentFolder(process: NodeJS.Process): string {
  try {
    return process.cwd();
  } catch {
    process.stderr.write('sluice: The current folder was removed. Change to another one, then run it again.\n');
    return process.exit(1);
  }
}

/** `sluice` if installed; in a checkout, the path of the file. */
function nameCommand(script: string, folder: string): string {
  return basename(script) === 'sluice' ? 'sluice' : `node ${quoteForShell(relative(folder, script))}`;
}

export type Variables = Readonly<Record<string, string | undefined>>;
