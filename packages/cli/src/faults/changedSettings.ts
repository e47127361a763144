/** The settings of any plan by their names in the library, in the words of the command line. */
const words: ReadonlyMap<string, string> = new Map([
  ['baseUrl', 'the base address'],
  ['pageSize', '--page-size'],
  ['maxRows', '--max-rows'],
  ['columns', '--columns'],
  ['format', '--format'],
  ['gzip', '--gzip'],
  ['pagesPerMember', '--gzip'],
  ['guardFormulas', '--no-guard-formulas'],
  ['extra', '--extra'],
  ['bom', '--bom'],
  ['endpoint', '--forward'],
]);

/** A source with options of its own for what others are given as parameters; and a watch of it. */
const holdings = 'aptos.walletNfts';
const holdingsWatch = `${holdings}.changes`;

const wordsOfHoldings: ReadonlyMap<string, string> = new Map([
  ...words,
  ['parts', '--owner or --owners-per-request'],
  ['offset', '--offset'],
  ['collection_whitelist', '--include-collections'],
  ['collection_blacklist', '--exclude-collections'],
  ['owners', '--owner'],
  ['include', '--include-collections'],
  ['exclude', '--exclude-collections'],
]);

const wordsOfOthers: ReadonlyMap<string, string> = new Map([
  ...words,
  ['parts', 'a parameter that decides what is listed'],
  ['offset', 'the row to begin with'],
]);

const ofFormat: ReadonlySet<string> = new Set(['sink', 'format', 'guardFormulas', 'extra', 'bom']);

/**
 * The settings in which two plans differ, as people gave them.
 *
 * @param source what is exported: the holdings of wallets, unless it is said.
 * @example changedSettings(['parts', 'pageSize']) // ['--owner or --owners-per-request', '--page-size']
 */
export function changedSettings(names: readonly string[], source = holdings): string[] {
  // Another listing differs in all that is asked, another format in all that formats have each for themselves.
  if (names.includes('source')) return ['what is exported'];
  // What an operator is added to is another source, though nothing else was changed.
  if (names.includes('perPage')) return ['--only'];
  // Sinks of plugins share no settings, so that all else differs as well.
  if (names.includes('to')) return ['--to'];
  // A file's state for an endpoint, or the other way round.
  if (names.includes('sink') && names.includes('endpoint')) return ['--to or --forward'];
  const isOtherFormat = names.includes('sink');
  const told = isOtherFormat ? ['format', ...names.filter((name) => !ofFormat.has(name))] : names;
  const meant = source === holdings || source === holdingsWatch ? wordsOfHoldings : wordsOfOthers;
  return [...new Set(told.map((name) => meant.get(name) ?? name))];
}
