import type { Command } from 'commander';
import { parsedBy } from './parsedBy.js';
import { parseList } from './parseList.js';
import { parseNumber } from './parseNumber.js';

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
    .option('--lanes <n>', 'groups of wallets asked for at once (default: 1)', number);
}

/** Adds the options of `sluice nfts export` that say which holdings are wanted. */
export function addNftsExportOptions(command: Command): Command {
  return addHoldingOptions(command)
    .option('--max-rows <n>', 'end after so many rows', number)
    .option('--offset <n>', 'rows to skip at the beginning', number);
}
