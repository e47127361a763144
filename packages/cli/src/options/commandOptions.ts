import { type Command, Option } from 'commander';
import { addConfigOptions, retryForOption } from './connectionOptions.js';
import { rowFormats } from './exportOptions.js';
import { addEndpointOptions } from './forwardOptions.js';
import {
  parsedBy,
  parseDuration,
  parseLatency,
  parseList,
  parseNumber,
  parseRate,
  parseShares,
  parseSpan,
} from './parse.js';
import { watchProgressModes } from './watchOptions.js';

const number = parsedBy(parseNumber);

/** Adds the options that say whose holdings are wanted, and which. */
export function addHoldingOptions(command: Command): Command {
  const list = parsedBy(parseList);
  return command
    .optionsGroup('Which holdings:')
    .option('--owner <address...>', 'wallets, 0x and up to 64 hex digits')
    .option('--owners-file <file>', 'wallets, one a line, # begins a comment, - for stdin')
    .option('--include-collections <hashes>', 'only these collections: a,b,c', list)
    .option('--exclude-collections <hashes>', 'all but these collections: a,b,c', list)
    .option('--page-size <n>', 'rows a request (default: 100)', number)
    .option('--owners-per-request <n>', 'wallets in one group, asked for together (default: 10)', number)
    .option('--concurrency <n>', 'groups of wallets fetched at once (default: 1)', number);
}

/** Adds the options of `sluice nfts export` that say which holdings are wanted. */
export function addNftsExportOptions(command: Command): Command {
  return addHoldingOptions(command)
    .option('--max-rows <n>', 'end after so many rows', number)
    .option('--offset <n>', 'rows to skip at the beginning', number);
}

/** Adds the argument and the options of `sluice dlq show`. */
export function addDlqShowOptions(command: Command): Command {
  return command
    .argument('<file>', 'the file of dead letters')
    .addOption(new Option('--format <format>', 'how to show them (default: text)').choices(['text', 'json']));
}

/** Adds the argument and the options of `sluice dlq replay`. */
export function addDlqReplayOptions(command: Command): Command {
  command
    .argument('<file>', 'the file of dead letters')
    .optionsGroup('Where to:')
    .option('--to <url>', 'the address of the service, which may be another one than before');
  return addEndpointOptions(command)
    .option('--deliveries <n>', 'requests under way at once (default: 1)', parsedBy(parseNumber))
    .option('--timeout <duration>', 'longest time for one answer (default: 15s)', parsedBy(parseSpan))
    .addOption(retryForOption('default: 1m'))
    .optionsGroup('After an interruption (the same command goes on by itself):')
    .option('--break-lock', 'take the lock from a process that can not be seen from here')
    .option('--trust-filesystem', 'work on a network file system too, at your own risk')
    .optionsGroup('Progress, on stderr:')
    .addOption(new Option('--progress <mode>', 'how it is shown (default: plain)').choices(watchProgressModes))
    .option('--quiet', 'nothing but faults');
}

/** Adds the options of `sluice sandbox`. */
export function addSandboxOptions(command: Command): Command {
  return command
    .option('--port <n>', 'port on 127.0.0.1 (default: any free one)', number)
    .optionsGroup('What it holds:')
    .option('--seed <n>', 'the same seed gives the same rows (default: 1)', number)
    .option('--holdings <n>', 'NFT holdings over all owners (default: 12345)', number)
    .option('--owners <n>', 'wallets that hold them (default: 3)', number)
    .option('--streams <n>', 'streams of the project (default: 42)', number)
    .option('--nasty <share>', 'rows with awkward values, 0 to 1 (default: 0.2)', number)
    .addOption(
      new Option(
        '--shape <name>',
        "answers as the live service gives them, or as the API's reference shows them (default: live)",
      ).choices(['live', 'reference']),
    )
    .optionsGroup('How it behaves:')
    .option('--rate-limit <rate>', '429 beyond so many requests: 50/s (default: unlimited)', parsedBy(parseRate))
    .option('--latency <duration>', 'before each answer: 25ms or 5ms..40ms', parsedBy(parseLatency))
    .option('--cursor-ttl <duration>', '400 for cursors that are older: 5m', parsedBy(parseSpan))
    .option('--fail <shares>', 'faults by rate: serverError=0.05,reset=0.01', parsedBy(parseShares))
    .option('--status-every <duration>', 'how often a stream changes its status: 5s', parsedBy(parseDuration))
    .option('--cors', 'answers pages of any origin, as browsers want it');
}

/** Adds the argument and the options of `sluice checkpoint show`. */
export function addCheckpointShowOptions(command: Command): Command {
  command
    .argument(
      '<file>',
      'the file that was to be written, its .sluice folder, the checkpoint in it, or NAME:TARGET of a plugin',
    )
    .addOption(new Option('--format <format>', 'how to show it (default: text)').choices(['text', 'json']));
  return addConfigOptions(command);
}

/** Adds the argument and the options that say which source is wanted, and what it is asked for. */
function addSourceOptions(command: Command): Command {
  return command
    .argument('<source>', 'API.SOURCE, e.g. streams.list; "sluice sources" lists them')
    .optionsGroup('Which rows:')
    .option(
      '--param <name=value>',
      'what the source is asked for, name:=JSON for anything but text; also several times',
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
    )
    .option('--page-size <n>', 'rows a request (default: as the source says)', number)
    .option('--concurrency <n>', 'partitions fetched at once (default: 1)', number);
}

/** Adds the argument and the options of `sluice export` that say which rows are wanted. */
export function addSourceExportOptions(command: Command): Command {
  return addSourceOptions(command).option('--max-rows <n>', 'end after so many rows', number);
}

/** Adds the argument and the options of `sluice watch` that say which rows are watched. */
export function addSourceWatchOptions(command: Command): Command {
  return addSourceOptions(command).option(
    '--key <columns>',
    'what tells one row from another: a,b (default: as the source says)',
    parsedBy(parseList),
  );
}

/** Adds the options of `sluice sources`. */
export function addSourcesOptions(command: Command): Command {
  return addConfigOptions(command).addOption(
    new Option('--format <format>', 'how to show them (default: text)').choices(['text', 'json']),
  );
}

/** Adds the options of `sluice streams list`. */
export function addStreamsListOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'how to show them (default: table on a terminal, else csv)').choices([
        'table',
        ...rowFormats,
      ]),
    )
    .option('--columns <names>', 'only these, in this order: a,b,c', parsedBy(parseList))
    .option('--page-size <n>', 'rows a request, 1 to 100 (default: 100)', number);
}

/** Adds the options of `sluice streams export` that say which streams are wanted. */
export function addStreamsExportOptions(command: Command): Command {
  return command
    .optionsGroup('Which streams:')
    .option('--page-size <n>', 'rows a request, 1 to 100 (default: 100)', number)
    .option('--max-rows <n>', 'end after so many rows', number);
}

/** Adds the options of `sluice streams watch` that say which changes are wanted. */
export function addStreamsWatchOptions(command: Command): Command {
  return command
    .optionsGroup('Which changes:')
    .addOption(new Option('--only <what>', 'only changes of status and its message (default: all)').choices(['status']))
    .option('--page-size <n>', 'rows a request, 1 to 100 (default: 100)', number);
}
