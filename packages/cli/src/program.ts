import { readFileSync } from 'node:fs';
import { Argument, Command, CommanderError } from 'commander';
import type { Config, RunWith } from './config/config.js';
import { type Environment, processEnvironment } from './environment/environment.js';
import { EarlyEnd, exitCodes, Interruption } from './errors/errors.js';
import { refuseSecretArguments } from './input/secretVariables.js';
import { addOptions, commandGroups, findCommand, type CommandName, flagsKnownTo } from './options/commands.js';
import { addParamFlags } from './options/paramFlags.js';

type Action = (command: Command) => Promise<void>;

const widestHelp = 110;

/** Runs one command line, prints its error as a sentence, and returns the exit code. Never throws. */
export async function main(args: readonly string[], given: Environment): Promise<number> {
  const environment = { ...given, hasFlag: flagsKnownTo(args) };
  try {
    return await runProgram(args, environment);
  } catch (error) {
    // Loaded only after a failure. An upgrade of the package may have replaced it meanwhile.
    const loaded = await import('./reportError.js').catch(() => undefined);
    if (loaded) return loaded.reportError(error, environment);
    environment.stderr.print('sluice: A file of its own is gone, or too many are open. Run the same command again.\n');
    const cause = error instanceof EarlyEnd ? error.cause : error;
    return cause instanceof Interruption ? cause.exitCode : exitCodes.failed;
  }
}

/** Runs the command line of a process, and exits. */
export async function runProcess(process: NodeJS.Process): Promise<void> {
  const environment = processEnvironment(process);
  process.exitCode = await main(process.argv.slice(2), environment);
  // After a signal, flush stderr only: pending output on stdout would keep the process alive until somebody reads it.
  if (environment.signal.aborted) process.stderr.write('', () => process.exit());
  // Exit explicitly: a handle that a plugin has left open would keep the process alive.
  else process.stdout.write('', () => process.stderr.write('', () => process.exit()));
}

/**
 * Runs one command line and returns the exit code. Loads a command's code only when it runs, so that `--version` and
 * `--help` are fast.
 */
async function runProgram(args: readonly string[], environment: Environment): Promise<number> {
  refuseSecretArguments(args);
  let exitCode: number = exitCodes.done;
  let config: Config | undefined;
  // Written at once, since `| head -n 1` closes the pipe after what it reads first.
  let help = '';
  const program = emptyProgram(environment, (text) => {
    help += text;
  });
  const plain =
    <Options>(load: () => Promise<RunWith<Options>>): Action =>
    async (command) => {
      const run = await load();
      const options = { ...readArguments(command), ...command.opts<Options & object>() };
      // It reads no configuration.
      exitCode = await run(options, environment, { args, config: { plugins: [], defaults: {} } });
    };
  /** For a command that uses plugins and defaults. */
  const configured =
    <Options extends object>(load: () => Promise<RunWith<Options>>, { reportsErrors = false } = {}): Action =>
    async (command) => {
      const { runConfigured } = await import('./commands/runConfigured.js');
      const call = { command, namedArguments: readArguments(command), args, run: await load(), reportsErrors, config };
      exitCode = await runConfigured(call, environment);
    };
  const actions: Readonly<Record<string, Action>> = {
    demo: plain(async () => (await import('./commands/demo.js')).demo),
    'nfts export': configured(async () => (await import('./commands/nfts.js')).nftsExport),
    'nfts watch': configured(async () => (await import('./commands/nfts.js')).nftsWatch),
    'streams list': configured(async () => (await import('./commands/streams.js')).streamsList),
    'streams export': configured(async () => (await import('./commands/streams.js')).streamsExport),
    'streams watch': configured(async () => (await import('./commands/streams.js')).streamsWatch),
    export: configured(async () => (await import('./commands/source.js')).exportSource),
    watch: configured(async () => (await import('./commands/source.js')).watchSource),
    sources: configured(async () => (await import('./commands/source.js')).sources),
    get: configured(async () => (await import('./commands/get.js')).get),
    report: plain(async () => (await import('./commands/report.js')).report),
    log: plain(async () => (await import('./commands/log.js')).log),
    'history compact': plain(async () => (await import('./commands/history.js')).historyCompact),
    'dlq show': plain(async () => (await import('./commands/dlq.js')).dlqShow),
    'dlq replay': plain(async () => (await import('./commands/dlq.js')).dlqReplay),
    'checkpoint show': plain(async () => (await import('./commands/checkpoint.js')).checkpointShow),
    'cluster submit nfts export': configured(async () => (await import('./commands/cluster/submit.js')).submitNfts),
    'cluster submit export': configured(async () => (await import('./commands/cluster/submit.js')).submitSource),
    'cluster work': configured(async () => (await import('./commands/cluster/work.js')).clusterWork),
    'cluster status': plain(async () => (await import('./commands/cluster/status.js')).clusterStatus),
    'cluster merge': configured(async () => (await import('./commands/cluster/manage.js')).clusterMerge),
    'cluster cancel': plain(async () => (await import('./commands/cluster/manage.js')).clusterCancel),
    'cluster clean': plain(async () => (await import('./commands/cluster/manage.js')).clusterClean),
    'cluster limit': plain(async () => (await import('./commands/cluster/manage.js')).clusterLimit),
    sandbox: plain(async () => (await import('./commands/sandbox.js')).sandbox),
    new: plain(async () => (await import('./commands/new.js')).draftDefinition),
    doctor: configured(async () => (await import('./commands/doctor.js')).doctor, { reportsErrors: true }),
  } satisfies Record<Exclude<CommandName, 'completion'>, Action>;
  for (const [name, action] of Object.entries(actions)) addCommand(program, name, action);
  addHelpCommand(program);
  if (args[0] === 'complete') {
    const { answerCompletion } = await import('./commands/completion.js');
    const words = args.slice(2);
    await findParams(program, words, environment).catch(() => undefined);
    if (await answerCompletion(program, words, environment)) return exitCodes.done;
  } else {
    addCommand(
      program,
      'completion',
      plain(async () => (await import('./commands/completion.js')).completion),
    );
    config = await findParams(program, args, environment);
  }

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

/** Adds a command, and those that its first words are the names of. */
function addCommand(program: Command, name: string, action: Action): void {
  let command = program;
  let path = '';
  for (const word of name.split(' ')) {
    path = path === '' ? word : `${path} ${word}`;
    command =
      command.commands.find((each) => each.name() === word) ??
      command.command(word).description(commandGroups[path] ?? '');
  }
  const { help = '', takes = {}, examples = [] } = findCommand(name) ?? {};
  addOptions(command.description(help), name)
    .addHelpText('after', `\nExamples:\n${examples.map((line) => `  ${line}`).join('\n')}`)
    .action(() => action(command));
  for (const [argument, help] of Object.entries(takes))
    command.addArgument(typeof help === 'string' ? new Argument(argument, help) : new Argument(argument).choices(help));
}

/**
 * Adds the flags of the parameters of a source. Only its definition knows them, so nothing is loaded unless there is a
 * flag that the command itself does not have. Returns the configuration that was loaded.
 */
async function findParams(program: Command, args: readonly string[], environment: Environment) {
  const command = args.reduce((found, word) => found.commands.find((each) => each.name() === word) ?? found, program);
  const isOwn = flagsKnownTo(args);
  const others = args.filter((arg) => /^(--(?!version$)|-h$)/.test(arg) && !isOwn(arg.replace(/=.*/s, '')));
  const namesSource =
    command.registeredArguments[0]?.name() === 'source' && args.some((arg) => /^[^-][^./]*\../.test(arg));
  if (others.length === 0 || !namesSource) return undefined;
  const { describeNamedSource } = await import('./commands/runConfigured.js');
  const isHelp = others.includes('--help') || others.includes('-h');
  const found = await describeNamedSource(args, environment).catch((error: unknown) => {
    if (!isHelp) throw error;
  });
  if (found?.source) addParamFlags(command, found.source);
  // The command then says that there is no such source: it takes its first argument for the name.
  else if (args[args.indexOf(command.name()) + 1]?.startsWith('-') === false)
    command.allowUnknownOption().allowExcessArguments();
  return found?.config;
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

/** The positional arguments of a command, by name. */
function readArguments({ registeredArguments, processedArgs }: Command): Readonly<Record<string, unknown>> {
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
  sluice log streams.sqlite --since 1d
  sluice nfts export --owner 0x1 --forward https://hooks.example.com/nfts --secret-file secret.txt
  sluice dlq show hooks.example.com.dead.jsonl
  sluice streams list
  sluice streams watch --only status
  sluice sources
  sluice get streams /streams/evm --param limit=10
  sluice export coins.markets --param currency=usd --to sqlite:coins.db`;

const lastNight = 'To see what changed since the last run, use "watch --polls 1 --state DIR" in place of "export".';

/** Commander's error as a sentence of ours, without the value of an unknown option: it might be a key. */
function usageError(text: string): string {
  const sentence = text
    .replace(/^error: /, '')
    .replace(/^(unknown option '[^'=]*)=[^\n]*/, "$1'")
    .replace(
      /^unknown option '(--incremental)'/,
      `$1 can't be used here: this API can't be asked for what is new. ${lastNight}`,
    )
    .trim()
    .replaceAll('\n', ' ');
  const capitalized = sentence.charAt(0).toUpperCase() + sentence.slice(1);
  return `sluice: ${capitalized}${/[.)]$/.test(sentence) ? '' : '. See --help.'}`;
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : '';
}
