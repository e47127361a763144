import { readFileSync } from 'node:fs';
import { Argument, Command, CommanderError } from 'commander';
import { type Invocation, noConfig } from './config/config.js';
import type { Environment } from './environment/environment.js';
import { exitCodes } from './errors/errors.js';
import { addOptions, type CommandName, hasFlagOf } from './options/commandOptions.js';
import { exampleText } from './options/examples.js';
import { refuseSecretArguments } from './input/secrets.js';

/** Runs a command and returns its exit code. */
type Run<Options> = (options: Options, environment: Environment, invocation: Invocation) => Promise<number>;

const widestHelp = 110;

/**
 * Runs one command line and returns the exit code. Loads a command's code only when it runs, so that `--version` and
 * `--help` are fast.
 *
 * @throws what the command raises.
 */
export async function runProgram(args: readonly string[], given: Environment): Promise<number> {
  refuseSecretArguments(args);
  const environment = { ...given, hasFlag: hasFlagOf(args) };
  let exitCode: number = exitCodes.done;
  // Written at once, since `| head -n 1` closes the pipe after what it reads first.
  let help = '';
  const program = emptyProgram(environment, (text) => {
    help += text;
  });
  const runs =
    <Options>(load: () => Promise<Run<Options>>) =>
    async (...passed: readonly unknown[]): Promise<void> => {
      const run = await load();
      const command = commandIn(passed);
      const options = { ...argumentsOf(command), ...command.opts<Options & object>() };
      exitCode = await run(options, environment, { args, config: noConfig });
    };
  /** For a command that uses plugins and defaults. */
  const configured =
    <Options extends object>(load: () => Promise<Run<Options>>, { reportsErrors = false } = {}) =>
    async (...passed: readonly unknown[]): Promise<void> => {
      const { runConfigured } = await import('./commands/runConfigured.js');
      const command = commandIn(passed);
      const call = { command, namedArguments: argumentsOf(command), args, run: await load(), reportsErrors };
      exitCode = await runConfigured(call, environment);
    };
  const declare = (name: CommandName, description: string, parent = program): Command =>
    addOptions(parent.command(name.split(' ').at(-1) ?? name).description(description), name).addHelpText(
      'after',
      exampleText(name),
    );

  declare('demo', 'run a tour against a local sandbox; needs no API key').action(
    runs(async () => (await import('./commands/demo.js')).demo),
  );

  const nfts = program.command('nfts').description('export or watch the NFTs of Aptos wallets');
  declare('nfts export', 'write holdings to a file, or forward them to a webhook', nfts).action(
    configured(async () => (await import('./commands/nfts.js')).nftsExport),
  );
  declare('nfts watch', 'report every change of holdings', nfts).action(
    configured(async () => (await import('./commands/nfts.js')).nftsWatch),
  );

  const streams = program.command('streams').description('list, export or watch the EVM streams of a project');
  declare('streams list', 'show all streams with their status', streams).action(
    configured(async () => (await import('./commands/streams.js')).streamsList),
  );
  declare('streams export', 'write streams to a file, or forward them to a webhook', streams).action(
    configured(async () => (await import('./commands/streams.js')).streamsExport),
  );
  declare('streams watch', 'report every change of streams, e.g. of their status', streams).action(
    configured(async () => (await import('./commands/streams.js')).streamsWatch),
  );

  const source = ['<source>', 'API.SOURCE, e.g. streams.list; "sluice sources" lists them'] as const;
  declare('export', 'export any source, including those of plugins, to any target')
    .argument(...source)
    .action(configured(async () => (await import('./commands/source.js')).exportSource));
  declare('watch', 'report every change of any source, including those of plugins')
    .argument(...source)
    .action(configured(async () => (await import('./commands/source.js')).watchSource));
  declare('sources', 'list the sources that "sluice export" and "sluice watch" accept, or explain one')
    .argument('[name]', 'API or API.SOURCE: its parameters, credentials, limits, paging and columns')
    .action(configured(async () => (await import('./commands/source.js')).sources));
  declare('get', 'send one request to an API, and print its JSON')
    .argument('<api>', 'the name of an API, e.g. streams; "sluice sources" lists what there is')
    .argument('<path>', 'below the base URL, e.g. /rate_limit')
    .action(configured(async () => (await import('./commands/get.js')).get));

  declare('report', 'write an HTML page about the rows of a file: counts, collections, times, empty columns')
    .argument('<file>', 'FILE.csv, FILE.csv.gz, FILE.sqlite#TABLE or FILE.parquet, as an export wrote it')
    .action(runs(async () => (await import('./commands/report.js')).report));

  const dlq = program.command('dlq').description('show or resend dead letters: records that a webhook refused');
  declare('dlq show', 'list dead letters with the responses to them, without changing anything', dlq)
    .argument('<file>', 'file of dead letters')
    .action(runs(async () => (await import('./commands/dlq.js')).dlqShow));
  declare('dlq replay', 'send dead letters again', dlq)
    .argument('<file>', 'file of dead letters')
    .action(runs(async () => (await import('./commands/dlq.js')).dlqReplay));

  const checkpoint = program
    .command('checkpoint')
    .description('show the state of an interrupted export, or of a watch');
  declare('checkpoint show', 'explain the state, without changing anything', checkpoint)
    .argument(
      '<file>',
      'the target file or table, its .sluice folder, the checkpoint in it, or NAME:TARGET of a plugin',
    )
    .action(runs(async () => (await import('./commands/checkpoint.js')).checkpointShow));

  const cluster = program
    .command('cluster')
    .description('export with several machines; needs @sluice/cluster and Redis');
  const submit = cluster.command('submit').description('let workers do an export');
  declare(
    'cluster submit nfts export',
    'the holdings of Aptos wallets',
    submit.command('nfts').description('the NFTs of Aptos wallets'),
  ).action(configured(async () => (await import('./commands/cluster/submit.js')).submitNfts));
  declare('cluster submit export', 'the rows of any source, including those of plugins', submit)
    .argument(...source)
    .action(configured(async () => (await import('./commands/cluster/submit.js')).submitSource));
  declare('cluster work', 'work on all runs, until SIGTERM', cluster).action(
    configured(async () => (await import('./commands/cluster/work.js')).clusterWork),
  );
  const run = ['<run>', 'the name of a run, or the path of its folder (./FOLDER)'] as const;
  declare('cluster status', 'show how far a run is and who works on it, or list all runs', cluster)
    .argument('[run]', run[1])
    .action(runs(async () => (await import('./commands/cluster/status.js')).clusterStatus));
  declare('cluster merge', 'write the rows of a finished run to one target', cluster)
    .argument(...run)
    .action(configured(async () => (await import('./commands/cluster/manage.js')).clusterMerge));
  declare('cluster cancel', 'stop a run for good: nothing more is committed', cluster)
    .argument(...run)
    .action(runs(async () => (await import('./commands/cluster/manage.js')).clusterCancel));
  declare('cluster clean', 'remove what interrupted workers left behind, and forget a run that ended', cluster)
    .argument(...run)
    .action(runs(async () => (await import('./commands/cluster/manage.js')).clusterClean));
  declare('cluster limit', 'show the rate limit that workers share, or change it for all', cluster)
    .argument('<name>', 'the name of the limit; that of workers is "api" by default')
    .action(runs(async () => (await import('./commands/cluster/manage.js')).clusterLimit));

  declare('sandbox', 'run a local server that simulates both APIs').action(
    runs(async () => (await import('./commands/sandbox.js')).sandbox),
  );
  declare('doctor', 'check the settings, and request one row from each API in use').action(
    configured(async () => (await import('./commands/doctor.js')).doctor, { reportsErrors: true }),
  );

  addHelpCommand(program);
  if (args[0] === 'complete') {
    const { answerCompletion } = await import('./commands/completion.js');
    if (await answerCompletion(program, args.slice(2), environment)) return exitCodes.done;
  } else
    declare('completion', 'print a script that completes commands and options in a shell')
      .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
      .action(runs(async () => (await import('./commands/completion.js')).completion));

  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    // Commander has already written its error, or made the requested help.
    if (error instanceof CommanderError) {
      if (error.exitCode !== 0) return exitCodes.wrongUsage;
      await environment.stdout.write(help);
      return exitCodes.done;
    }
    throw error;
  }
  if (help !== '') await environment.stdout.write(help);
  return exitCode;
}

/** `sluice help nfts export`: commander's own command knows the first word only. */
function addHelpCommand(program: Command): void {
  program
    .helpCommand(false)
    .command('help')
    .description('show the help of a command')
    .argument('[command...]')
    .action((words: readonly string[]) => {
      let found = program;
      for (const word of words) {
        const next = found.commands.find((each) => each.name() === word);
        if (!next)
          return program.error(`There is no command ${JSON.stringify(words.join(' '))}.`, {
            exitCode: exitCodes.wrongUsage,
          });
        found = next;
      }
      found.outputHelp();
    });
}

/** The command among the arguments that commander passes to an action. */
function commandIn(passed: readonly unknown[]): Command {
  const command = passed.find((each) => each instanceof Command);
  if (!command) throw new TypeError('Commander has called an action without its command.');
  return command;
}

/** The positional arguments of a command, by name. */
function argumentsOf({ registeredArguments, processedArgs }: Command): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    registeredArguments.map((argument, at): [string, unknown] => [argument.name(), processedArgs[at]]),
  );
}

/** A program that writes to the environment, and throws instead of exiting. Its commands inherit both. */
function emptyProgram({ stdout, stderr }: Environment, writeOut: (text: string) => void): Command {
  const width = (columns: number): number => Math.min(columns, widestHelp);
  return new Command('sluice')
    .description('Exports rate-limited web APIs to files and webhooks, without losing a row.')
    .version(version())
    .exitOverride()
    .configureOutput({
      writeOut,
      writeErr: stderr.print,
      outputError: (text) => {
        stderr.print(`${usageError(text)}\n`);
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
Settings come from the environment: SLUICE_API_KEY, SLUICE_STREAMS_URL, SLUICE_APTOS_URL. Plugins and
option defaults come from sluice.config.js (.mjs, .ts, .json) in this folder.

Examples:
  sluice demo
  sluice doctor
  sluice nfts export --owner 0x1 --to holdings.csv
  sluice checkpoint show holdings.csv
  sluice report holdings.csv
  sluice nfts export --owner 0x1 --forward https://hooks.example.com/nfts --secret-file secret.txt
  sluice dlq show hooks.example.com.dead.jsonl
  sluice streams list
  sluice streams watch --only status
  sluice sources
  sluice get streams /streams/evm
  sluice export coins.markets --param currency=usd --to sqlite:coins.db`;

/** Commander's error as a sentence of ours, without the value of an unknown option: it might be a key. */
function usageError(text: string): string {
  const sentence = text
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^'=]*)=[^\n]*/, "$1'")
    .trim()
    .replaceAll('\n', ' ');
  const capitalized = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return `sluice: ${capitalized}${/[.)]$/.test(sentence) ? '' : '. See --help.'}`;
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
