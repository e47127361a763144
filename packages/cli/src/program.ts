import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { type Invocation, noConfig } from './config/config.js';
import type { Environment } from './environment/environment.js';
import { exitCodes } from './errors/errors.js';
import {
  addCheckpointShowOptions,
  addDlqReplayOptions,
  addDlqShowOptions,
  addHoldingOptions,
  addNftsExportOptions,
  addSandboxOptions,
  addSourceExportOptions,
  addSourcesOptions,
  addSourceWatchOptions,
  addStreamsExportOptions,
  addStreamsListOptions,
  addStreamsWatchOptions,
} from './options/commandOptions.js';
import { addConnectionOptions } from './options/connectionOptions.js';
import { addForwardOptions } from './options/forwardOptions.js';
import { addProgressOptions, addResumeOptions, addTargetOptions } from './options/exportOptions.js';
import { addWatchOptions, addWatchProgressOptions } from './options/watchOptions.js';
import { refuseKeyAsArgument, refuseSecretAsArgument } from './input/secrets.js';

/** Does a command's work with the options that were given, and answers the exit code. */
type Run<Options> = (options: Options, environment: Environment, invocation: Invocation) => Promise<number>;

const widestHelp = 110;

/**
 * Runs one command line. A command's own code is loaded only when it runs, so that `--version` and `--help` are fast.
 *
 * @returns the exit code.
 * @throws what the command raises.
 */
export async function runProgram(args: readonly string[], environment: Environment): Promise<number> {
  refuseKeyAsArgument(args);
  refuseSecretAsArgument(args);
  let exitCode: number = exitCodes.done;
  const program = emptyProgram(environment);
  const runs =
    <Options>(load: () => Promise<Run<Options>>) =>
    async (options: Options): Promise<void> => {
      const run = await load();
      exitCode = await run(options, environment, { args, config: noConfig });
    };
  /** The same for a command that takes plugins and defaults. */
  const configured =
    <Options extends object>(load: () => Promise<Run<Options>>, { tellsFaults = false } = {}) =>
    async (...given: readonly unknown[]): Promise<void> => {
      const command = given.find((each) => each instanceof Command);
      if (!command) return;
      const { runConfigured } = await import('./commands/runConfigured.js');
      exitCode = await runConfigured({ command, args, run: await load(), tellsFaults }, environment);
    };

  program
    .command('demo')
    .description('a tour on a local sandbox; no key needed')
    .action(runs(async () => (await import('./commands/demo.js')).demo));

  const nfts = program.command('nfts').description('NFTs that Aptos wallets hold');
  const nftsExport = nfts.command('export').description('write holdings into a file, or forward them to a service');
  addNftsExportOptions(nftsExport);
  addTargetOptions(nftsExport);
  addForwardOptions(nftsExport, 'row');
  addResumeOptions(nftsExport);
  addConnectionOptions(nftsExport, 'aptos');
  addProgressOptions(nftsExport).action(configured(async () => (await import('./commands/nfts.js')).nftsExport));

  const nftsWatch = nfts.command('watch').description('tell every change of holdings');
  addHoldingOptions(nftsWatch);
  addWatchOptions(nftsWatch);
  addConnectionOptions(nftsWatch, 'aptos');
  addWatchProgressOptions(nftsWatch).action(configured(async () => (await import('./commands/nfts.js')).nftsWatch));

  const streams = program.command('streams').description("the project's EVM streams");
  const streamsList = streams.command('list').description('show all streams with their status');
  addStreamsListOptions(streamsList);
  addConnectionOptions(streamsList, 'streams');
  addProgressOptions(streamsList).action(configured(async () => (await import('./commands/streams.js')).streamsList));

  const streamsExport = streams
    .command('export')
    .description('write streams into a file, or forward them to a service');
  addStreamsExportOptions(streamsExport);
  addTargetOptions(streamsExport);
  addForwardOptions(streamsExport, 'row');
  addResumeOptions(streamsExport);
  addConnectionOptions(streamsExport, 'streams');
  addProgressOptions(streamsExport).action(
    configured(async () => (await import('./commands/streams.js')).streamsExport),
  );

  const streamsWatch = streams.command('watch').description('tell every change of streams, e.g. of their status');
  addStreamsWatchOptions(streamsWatch);
  addWatchOptions(streamsWatch);
  addConnectionOptions(streamsWatch, 'streams');
  addWatchProgressOptions(streamsWatch).action(
    configured(async () => (await import('./commands/streams.js')).streamsWatch),
  );

  const anyExport = program
    .command('export')
    .description('rows of any source, of plugins too, to wherever rows can go');
  addSourceExportOptions(anyExport);
  addTargetOptions(anyExport);
  addForwardOptions(anyExport, 'row');
  addResumeOptions(anyExport);
  addConnectionOptions(anyExport);
  addProgressOptions(anyExport).action(configured(async () => (await import('./commands/source.js')).exportSource));

  const anyWatch = program.command('watch').description('tell every change of any source, of plugins too');
  addSourceWatchOptions(anyWatch);
  addWatchOptions(anyWatch);
  addConnectionOptions(anyWatch);
  addWatchProgressOptions(anyWatch).action(configured(async () => (await import('./commands/source.js')).watchSource));

  const sources = program.command('sources').description('list what "sluice export" and "sluice watch" can name');
  addSourcesOptions(sources).action(configured(async () => (await import('./commands/source.js')).sources));

  const dlq = program.command('dlq').description('dead letters: what a service that is forwarded to did not take');
  const showLetters = runs(async () => (await import('./commands/dlq.js')).dlqShow);
  addDlqShowOptions(dlq.command('show').description('list them with their answers, and change nothing')).action(
    (file: string, options: object) => showLetters({ ...options, file }),
  );
  const replayLetters = runs(async () => (await import('./commands/dlq.js')).dlqReplay);
  addDlqReplayOptions(dlq.command('replay').description('send them again')).action((file: string, options: object) =>
    replayLetters({ ...options, file }),
  );

  const checkpoint = program.command('checkpoint').description('what an interrupted export, or a watch, left behind');
  const checkpointShow = checkpoint.command('show').description('explain it, and change nothing');
  const showCheckpoint = runs(async () => (await import('./commands/checkpoint.js')).checkpointShow);
  addCheckpointShowOptions(checkpointShow).action((file: string, options: object) =>
    showCheckpoint({ ...options, file }),
  );

  const sandbox = program.command('sandbox').description('a local server of both APIs, to try things on');
  addSandboxOptions(sandbox).action(runs(async () => (await import('./commands/sandbox.js')).sandbox));

  const doctor = program.command('doctor').description('check the settings, and ask what is in use for one row');
  addConnectionOptions(doctor)
    .option('--quiet', 'only what fails')
    .action(configured(async () => (await import('./commands/doctor.js')).doctor, { tellsFaults: true }));

  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    // Commander has written what there is to say: a fault, or the help that was asked for.
    if (error instanceof CommanderError) {
      if (error.exitCode !== 0) return exitCodes.wrongUsage;
      // Whether it arrived.
      await environment.stdout.write('');
      return exitCodes.done;
    }
    throw error;
  }
  return exitCode;
}

/** A program that writes where the environment says, and throws instead of leaving the process. Its commands inherit that. */
function emptyProgram({ stdout, stderr }: Environment): Command {
  const width = (columns: number): number => Math.min(columns, widestHelp);
  return new Command('sluice')
    .description('Moves what rate-limited web APIs hold into files and webhooks, without losing a row.')
    .version(version())
    .exitOverride()
    .configureOutput({
      writeOut: stdout.tell,
      writeErr: stderr.tell,
      outputError: (text) => {
        stderr.tell(`${usageFault(text)}\n`);
      },
      getOutHelpWidth: () => width(stdout.columns),
      getErrHelpWidth: () => width(stderr.columns),
      getOutHasColors: () => stdout.colors.isColorSupported,
      getErrHasColors: () => stderr.colors.isColorSupported,
    })
    .configureHelp({ styleTitle: stdout.colors.bold })
    .addHelpText('after', examples);
}

const examples = `
Settings come from the environment: SLUICE_API_KEY, SLUICE_STREAMS_URL, SLUICE_APTOS_URL. Plugins, and defaults of
options, come from sluice.config.js (.mjs, .ts, .json) in this folder.

  sluice demo
  sluice doctor
  sluice nfts export --owner 0x1 --to holdings.csv
  sluice checkpoint show holdings.csv
  sluice nfts export --owner 0x1 --forward https://hooks.example.com/nfts --secret-file secret.txt
  sluice dlq show hooks.example.com.dead.jsonl
  sluice streams list
  sluice streams watch --only status
  sluice sources
  sluice export coins.markets --param currency=usd --to sqlite:coins.db`;

/** Commander's fault as a sentence of ours. The value of an unknown option is cut off: it might be a key. */
function usageFault(text: string): string {
  const sentence = text
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^'=]*)=[^\n]*/, "$1'")
    .trim()
    .replaceAll('\n', ' ');
  const begun = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return `sluice: ${begun}${/[.)]$/.test(sentence) ? '' : '. --help shows what there is.'}`;
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
