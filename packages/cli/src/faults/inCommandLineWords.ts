import { flagOf } from '../options/flagOf.js';

/** Where the library speaks of its options, and how the command line calls them; advice that it has no option for is dropped. */
const translations: readonly (readonly [said: RegExp, meant: string])[] = [
  [/\btimeouts\.(?:connect|response|total)\b/g, '--timeout'],
  [/\brateLimit\b/g, '--rate'],
  [/\bpageSize\b/g, '--page-size'],
  [/\bwith restart\b/g, 'with --restart'],
  [/with ifExists: 'overwrite' \(--if-exists overwrite\)/g, 'with --if-exists overwrite'],
  [/\bincludeCollections\b/g, '--include-collections'],
  [/\bexcludeCollections\b/g, '--exclude-collections'],
  [/\bownerAddresses\b/g, '--owner'],
  [/, or raise (?:maxRetryAfter|maxBodyBytes)(?=\.)/g, ''],
  [/, or set allowInsecure: true(?=\.)/g, ''],
  [/\bmaxRetryAfter \(([^)]*)\) allows/g, '$1, the most that is waited for'],
];

/**
 * A message of the library in the words of the command line.
 *
 * @param option the option that the message begins with, where its error names one.
 * @example inCommandLineWords('pageSize is 0: it must be …', 'pageSize') // '--page-size is 0: it must be …'
 */
export function inCommandLineWords(message: string, option?: string): string {
  const begun =
    option !== undefined && message.startsWith(option) ? flagOf(option) + message.slice(option.length) : message;
  return translations.reduce((text, [said, meant]) => text.replace(said, meant), begun);
}
