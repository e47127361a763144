/** Where the library speaks of its options, and how the command line calls them; advice that it has no option for is dropped. */
const translations: readonly (readonly [said: RegExp, meant: string])[] = [
  // Requests
  [/\btimeouts\.(?:connect|response|total)\b/g, '--timeout'],
  [/\bRaise retry\.for to try for longer\b/g, 'Give --retry-for to try for longer'],
  [/\bretry\.for\b/g, '--retry-for'],
  [/\brateLimit(?:\.\w+)?\b/g, '--rate'],
  [/, or raise (?:maxRetryAfter|maxBodyBytes)(?=\.)/g, ''],
  [/, or set allowInsecure: true(?=\.)/g, ''],
  [/\bset apiKey if it wants one\b/g, 'set SLUICE_API_KEY if it wants one'],
  [/\bmaxRetryAfter \(([^)]*)\) allows/g, '$1, the most that is waited for'],
  // What is exported
  [/\bpageSize\b/g, '--page-size'],
  [/\bmaxRows needs lanes: 1\b/g, '--max-rows needs --lanes 1'],
  [/\bincludeCollections\b/g, '--include-collections'],
  [/\bexcludeCollections\b/g, '--exclude-collections'],
  [/\bownerAddresses\b/g, '--owner'],
  [/^offset skips\b/g, '--offset skips'],
  // Where to
  [/with ifExists: 'overwrite' \(--if-exists overwrite\)/g, 'with --if-exists overwrite'],
  [/\bso extra can't add\b/g, "so --extra can't add"],
  [/\bLeave that out with perPage, or tell\b/g, 'Tell'],
  // Forwarding
  [/\ballowAddresses\b/g, '--allow-address'],
  [/\bdeadLetter keeps\b/g, '--dead-letters keeps'],
  [/\bmaxDeadLetters\b/g, '--max-dead-letters'],
  [/(?:--|\b)batch\.(?:count|bytes)\b/g, '--batch'],
  [/\blower the concurrency\b/g, 'lower --concurrency'],
  // After an interruption
  [/\bwith restart\b/g, 'with --restart'],
  [/ \(an export does with onExpired: 'restart-part'\)/g, ' with --on-expired restart-part'],
  [/\bwith sameProject\b/g, 'with --same-project'],
  [/\bwith breakLock\b/g, 'with --break-lock'],
  [/\bwith trustFileSystem\b/g, 'with --trust-filesystem'],
];

/**
 * A message of the library in the words of the command line.
 *
 * @param option the option that the message begins with, where its error names one.
 * @param source what is exported, where its error says so.
 * @example inCommandLineWords('pageSize is 0: it must be …', 'pageSize') // '--page-size is 0: it must be …'
 */
export function inCommandLineWords(message: string, option?: string, source?: string): string {
  const begun =
    option !== undefined && message.startsWith(option) ? flagOf(option) + message.slice(option.length) : message;
  return translations
    .reduce((text, [said, meant]) => text.replace(said, meant), begun)
    .replace(
      /\bbelongs to another plan \(([^)]*)\)/,
      (_, names: string) => `belongs to another plan (${changedSettings(names.split(', '), source).join(', ')})`,
    );
}

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
function changedSettings(names: readonly string[], source = holdings): string[] {
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

/** The command line's spelling of an option of the library. @example flagOf('pageSize') // '--page-size' */
export function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
