import { flagOf } from '../options/flagOf.js';
import { changedSettings } from './changedSettings.js';

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
