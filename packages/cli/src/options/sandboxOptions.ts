import { Option, type Command } from 'commander';
import { parsedBy } from './parsedBy.js';
import { parseDuration, parseSpan } from './parseDuration.js';
import { parseLatency } from './parseLatency.js';
import { parseNumber } from './parseNumber.js';
import { parseRate } from './parseRate.js';
import { parseShares } from './parseShares.js';

/** Adds the options of `sluice sandbox`. */
export function addSandboxOptions(command: Command): Command {
  const number = parsedBy(parseNumber);
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
