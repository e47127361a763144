import { basename, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { abortOnSignals } from '../errors/errors.js';
import { shellQuoted } from '../terminal/text.js';
import { isClosedAtStart, type Output, outputOf, type OutputStream, wholeWrites } from './output.js';
import { type ForeignCode, foreignCodeIn, type RunningPlugins, runningPluginsIn } from './untrustedCode.js';

/** All that a command touches of the process it runs in, so that a test can stand in for it. */
export interface Environment {
  readonly variables: Variables;
  readonly stdin: Readable;
  /** Data, and nothing else. */
  readonly stdout: Output;
  /** Progress, hints and faults. */
  readonly stderr: Output;
  /** Aborted when the command shall end early: with an `Interruption`, or with what a plugin failed with where nobody waits for it. */
  readonly signal: AbortSignal;
  /** Where relative paths begin. */
  readonly folder: string;
  /** How this command is called here, as a person would type it into a shell. */
  readonly command: string;
  /** The running Node's version, without the `v`. */
  readonly nodeVersion: string;
  /** Texts that no output may hold. Whoever reads another key adds it. */
  readonly secrets: Set<string>;
  /** What was found before the work begins and is to be told with its progress: sentences. */
  readonly warnings: Set<string>;
  /** Runs code of others, such as a configuration file. */
  readonly foreignCode: ForeignCode;
  /** Runs a command that plugins take part in. */
  readonly runningPlugins: RunningPlugins;
}

/** The environment of a real process. It takes over the process's signals. */
export function processEnvironment(process: NodeJS.Process): Environment {
  const signal = abortOnSignals(process, () => performance.now());
  // With a listener, a write beyond `ulimit -f` fails with EFBIG. Without one, the signal kills the process half-way.
  process.on('SIGXFSZ', () => undefined);
  // A pipe that breaks is told to whoever writes; as an event alone it would end the process with a stack trace.
  const stdout: OutputStream = (process.stdout.isTTY ? undefined : wholeWrites(process.stdout.fd)) ?? process.stdout;
  for (const stream of [stdout, process.stdout, process.stderr]) stream.on('error', () => undefined);
  const key = process.env['SLUICE_API_KEY']?.trim();
  return {
    variables: process.env,
    stdin: process.stdin,
    stdout: outputOf(stdout, process.env, isClosedAtStart(process.stdout.fd)),
    stderr: outputOf(process.stderr, process.env),
    signal,
    folder: process.cwd(),
    command: commandOf(process.argv[1] ?? 'sluice', process.cwd()),
    nodeVersion: process.versions.node,
    secrets: new Set(key ? [key] : []),
    warnings: new Set(),
    foreignCode: foreignCodeIn(process, console),
    runningPlugins: runningPluginsIn(process),
  };
}

/** Installed it is `sluice`; in a checkout there is only the file. */
function commandOf(script: string, folder: string): string {
  return basename(script) === 'sluice' ? 'sluice' : `node ${shellQuoted(relative(folder, script))}`;
}

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;
