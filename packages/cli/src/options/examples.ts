import type { CommandName } from './commandOptions.js';

/** What people do with each command, for its help. */
const examples: Readonly<Record<CommandName, readonly [string, ...string[]]>> = {
  demo: ['sluice demo', 'sluice demo --dashboard'],
  completion: ['source <(sluice completion bash)', 'sluice completion fish > ~/.config/fish/completions/sluice.fish'],
  'nfts export': [
    'sluice nfts export --owner 0x1 --to holdings.csv',
    'sluice nfts export --owners-file wallets.txt --concurrency 4 --rate 25/s --to holdings.sqlite#nfts',
  ],
  'nfts watch': [
    'sluice nfts watch --owner 0x1 --every 1m',
    'sluice nfts watch --owner 0x1 --to changes.jsonl --format jsonl',
  ],
  'streams list': ['sluice streams list', 'sluice streams list --format csv --columns id,status'],
  'streams export': [
    'sluice streams export --to streams.jsonl.gz',
    'sluice streams export --to streams.sqlite --mode merge --key-columns id',
  ],
  'streams watch': [
    'sluice streams watch --only status',
    'sluice streams watch --forward https://hooks.example.com/streams --secret-file secret.txt',
  ],
  export: [
    'sluice export streams.list --to streams.csv',
    'sluice export coins.markets --param currency=usd --to sqlite:coins.db',
  ],
  watch: ['sluice watch streams.list --every 30s', 'sluice watch coins.markets --param currency=usd --key id'],
  sources: ['sluice sources', 'sluice sources aptos.walletNfts'],
  get: ['sluice get streams /streams/evm', 'sluice get streams /streams/evm --param limit=1'],
  'cluster submit nfts export': [
    'sluice cluster submit nfts export --owners-file wallets.txt --to /mnt/out/holdings',
    'sluice cluster submit nfts export --owner 0x1 0x2 --owners-per-request 1 --to ./holdings --name night',
  ],
  'cluster submit export': [
    'sluice cluster submit export streams.list --to /mnt/out/streams',
    'sluice cluster submit export coins.markets --param currency=usd --to /mnt/out/coins',
  ],
  'cluster work': ['sluice cluster work --rate 25/s', 'sluice cluster work --concurrency 8 --until-done'],
  'cluster status': ['sluice cluster status', 'sluice cluster status holdings --wait'],
  'cluster merge': [
    'sluice cluster merge holdings --to holdings.csv',
    'sluice cluster merge ./holdings --to holdings.parquet',
  ],
  'cluster cancel': ['sluice cluster cancel holdings', 'sluice cluster cancel ./holdings'],
  'cluster clean': ['sluice cluster clean holdings', 'sluice cluster clean ./holdings'],
  'cluster limit': ['sluice cluster limit api', 'sluice cluster limit api --set 50/s'],
  'dlq show': [
    'sluice dlq show hooks.example.com.dead.jsonl',
    'sluice dlq show hooks.example.com.dead.jsonl --format json',
  ],
  'dlq replay': [
    'sluice dlq replay hooks.example.com.dead.jsonl',
    'sluice dlq replay hooks.example.com.dead.jsonl --to https://hooks.example.com/new --secret-file secret.txt',
  ],
  report: ['sluice report holdings.csv', 'sluice report holdings.sqlite#nfts --to report.html --if-exists overwrite'],
  'checkpoint show': [
    'sluice checkpoint show holdings.csv',
    'sluice checkpoint show holdings.sqlite#nfts --format json',
  ],
  sandbox: ['sluice sandbox', 'sluice sandbox --port 4010 --rate-limit 50/s --fail serverError=0.05,reset=0.01'],
  doctor: ['sluice doctor', 'sluice doctor --json'],
};

/** The examples of a command, as its help shows them. */
export function exampleText(name: keyof typeof examples): string {
  return `\nExamples:\n${examples[name].map((line) => `  ${line}`).join('\n')}`;
}
