import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inCommandLineWords } from '../src/errors/cliTerms.js';

const packages = join(import.meta.dirname, '..', '..');
const nothingChanged = 'nothing was changed.';

/**
 * Every message of the library that names an option, as it stands in its sources, each `${…}` as `…`; and what people read instead.
 * Those that no command line leads to are in `unreachable`.
 */
const said: readonly (readonly [message: string, meant: string])[] = [
  // core/http
  [
    '… was answered with more than … bytes. Ask for smaller pages (pageSize), or raise maxBodyBytes.',
    '… was answered with more than … bytes. Ask for smaller pages (--page-size).',
  ],
  [
    "… was answered with a document that would take more than a sixteenth of this process's memory once it is read. Ask for smaller pages (pageSize), or raise Node's --max-old-space-size.",
    "… was answered with a document that would take more than a sixteenth of this process's memory once it is read. Ask for smaller pages (--page-size), or raise Node's --max-old-space-size.",
  ],
  ['… … after … ms. Try again later, or raise timeouts.….', '… … after … ms. Try again later, or raise --timeout.'],
  ['Lower rateLimit, or wait.', 'Lower --rate, or wait.'],
  ['rateLimit.… is …: it must be ….', '--rate is …: it must be ….'],
  ['timeouts.total leaves', '--timeout leaves'],
  [
    '… was not done after … ms in the links that it goes through. Does one of them wait for something that never comes? Mend it, or raise timeouts.total.',
    '… was not done after … ms in the links that it goes through. Does one of them wait for something that never comes? Mend it, or raise --timeout.',
  ],
  ['maxRetryAfter (… s) allows', '… s, the most that is waited for'],
  [
    'is not encrypted (…), so anyone on the way could read the API key. Use https, or set allowInsecure: true.',
    'is not encrypted (…), so anyone on the way could read the API key. Use https.',
  ],
  // core/node
  [
    '… is not there any more, though a checkpoint says how to go on with it. Start over with restart: nothing was changed.',
    `… is not there any more, though a checkpoint says how to go on with it. Start over with --restart: ${nothingChanged}`,
  ],
  [
    '… is shorter (… bytes) than its checkpoint says (…). Start over with restart: nothing was changed.',
    `… is shorter (… bytes) than its checkpoint says (…). Start over with --restart: ${nothingChanged}`,
  ],
  [
    'The state belongs to an export to another target. Give each target a state of its own, or start over with restart: nothing was changed.',
    'The state belongs to an export to another target. Give each target a state of its own, or start over with --restart: nothing was changed.',
  ],
  [
    'The state was made with another API key, maybe of another project: everything would look changed. If it is a new key of the same project, say so with sameProject; else give this watch a state of its own: nothing was changed.',
    'The state was made with another API key, maybe of another project: everything would look changed. If it is a new key of the same project, say so with --same-project; else give this watch a state of its own: nothing was changed.',
  ],
  [
    '… is no regular file any more. Move it away, and start over with restart: nothing was changed.',
    '… is no regular file any more. Move it away, and start over with --restart: nothing was changed.',
  ],
  [
    '… was replaced while the export ran, maybe by another export that was started over on the same file; its rows are gone with the old one. What is there now was not touched: see what it is, then start over with restart.',
    '… was replaced while the export ran, maybe by another export that was started over on the same file; its rows are gone with the old one. What is there now was not touched: see what it is, then start over with --restart.',
  ],
  [
    '… was changed since its checkpoint was written. Start over with restart: nothing was changed.',
    `… was changed since its checkpoint was written. Start over with --restart: ${nothingChanged}`,
  ],
  ['Find out who, then start over with restart.', 'Find out who, then start over with --restart.'],
  [
    'The checkpoint does not say where in the file to go on. Start over with restart: nothing was changed.',
    `The checkpoint does not say where in the file to go on. Start over with --restart: ${nothingChanged}`,
  ],
  [
    'The checkpoint does not say how to go on with the parts of the plan. Start over with restart: nothing was changed.',
    `The checkpoint does not say how to go on with the parts of the plan. Start over with --restart: ${nothingChanged}`,
  ],
  ['… … Start over with restart: nothing was changed.', `… … Start over with --restart: ${nothingChanged}`],
  [
    '… is no state of Sluice, or is damaged. Move it away, then start over with restart: nothing was changed.',
    `… is no state of Sluice, or is damaged. Move it away, then start over with --restart: ${nothingChanged}`,
  ],
  [
    '… was … while it was in use: what it held is lost. Find out who did that, then start over with restart.',
    '… was … while it was in use: what it held is lost. Find out who did that, then start over with --restart.',
  ],
  [
    '… lies on a network file system, which may lose what it said to have written. Use a local disk, or take the risk with trustFileSystem: nothing was changed.',
    `… lies on a network file system, which may lose what it said to have written. Use a local disk, or take the risk with --trust-filesystem: ${nothingChanged}`,
  ],
  [
    "… is locked by …, and whether that still runs can't be told from here. If it does not, take the lock with breakLock: nothing was changed.",
    `… is locked by …, and whether that still runs can't be told from here. If it does not, take the lock with --break-lock: ${nothingChanged}`,
  ],
  [
    '… is there already: another export is at work on it, or one was interrupted. If none is, start over with restart.',
    '… is there already: another export is at work on it, or one was interrupted. If none is, start over with --restart.',
  ],
  [
    "… exists already, and was not touched. Give another name, or replace it with ifExists: 'overwrite' (--if-exists overwrite).",
    '… exists already, and was not touched. Give another name, or replace it with --if-exists overwrite.',
  ],
  // core/http
  ['No API key was sent: set apiKey if it wants one.', 'No API key was sent: set SLUICE_API_KEY if it wants one.'],
  // core/sink
  [
    'The checkpoint was written by a newer version of Sluice. Use that version, or start over with restart: nothing was changed.',
    `The checkpoint was written by a newer version of Sluice. Use that version, or start over with --restart: ${nothingChanged}`,
  ],
  [
    "The checkpoint can't be read. Start over with restart: nothing was changed.",
    `The checkpoint can't be read. Start over with --restart: ${nothingChanged}`,
  ],
  [
    'The checkpoint was made with another API key, maybe of another project, whose rows must not be mixed with these. If it is a new key of the same project, say so with sameProject; else start over with restart: nothing was changed.',
    `The checkpoint was made with another API key, maybe of another project, whose rows must not be mixed with these. If it is a new key of the same project, say so with --same-project; else start over with --restart: ${nothingChanged}`,
  ],
  [
    'The checkpoint belongs to another plan…. Run it as before, or start over with restart: nothing was changed.',
    `The checkpoint belongs to another plan…. Run it as before, or start over with --restart: ${nothingChanged}`,
  ],
  [
    'The checkpoint belongs to another plan…, of which no row is kept yet. Start over with restart, which loses none, or run it as before: nothing was changed.',
    `The checkpoint belongs to another plan…, of which no row is kept yet. Start over with --restart, which loses none, or run it as before: ${nothingChanged}`,
  ],
  // core/source
  [
    "… can't go on: the API refused the cursor of page … with …. It may have expired: walk this part again (an export does with onExpired: 'restart-part'), or start over with restart.",
    "… can't go on: the API refused the cursor of page … with …. It may have expired: walk this part again with --on-expired restart-part, or start over with --restart.",
  ],
  ...[
    "page … has the same rows as …: the API ignores its cursor, goes round in a circle, or the cursor expired. If it still does so later, tell the API's operator and start over with restart",
    "page … gave a cursor for the next page that an earlier page had given, so the API goes round in a circle and rows would come twice. Tell the API's operator, and start over with restart once it is mended",
  ].map((message): [string, string] => [message, message.replace('with restart', 'with --restart')]),
  [
    'maxRows needs lanes: 1. With several lanes it would be chance which rows are the first ones.',
    '--max-rows needs --lanes 1. With several lanes it would be chance which rows are the first ones.',
  ],
  // core/watch
  [
    "The watch's state is of another time than the place to go on from (generation …; it holds … to …). Use the state that belongs to it, or start over with restart: nothing was changed.",
    `The watch's state is of another time than the place to go on from (generation …; it holds … to …). Use the state that belongs to it, or start over with --restart: ${nothingChanged}`,
  ],
  ["The row … …. Leave that out with perPage, or tell the API's operator.", "The row … …. Tell the API's operator."],
  // core/api
  [
    '… takes no pageSize: how many rows a page has, its API decides.',
    '… takes no --page-size: how many rows a page has, its API decides.',
  ],
  // aptos, exporters
  [
    'offset skips rows of one listing, but … owners make …. Leave it out, or ask for fewer owners.',
    '--offset skips rows of one listing, but … owners make …. Leave it out, or ask for fewer owners.',
  ],
  ['ownerAddresses is empty: give at least one address.', '--owner is empty: give at least one address.'],
  [
    "A column is called … already, so extra can't add one of that name.",
    "A column is called … already, so --extra can't add one of that name.",
  ],
  // Forwarding
  [
    'If it is the right place, name a CIDR that holds it, such as …, in allowAddresses: a host name or the address alone does not open it.',
    'If it is the right place, name a CIDR that holds it, such as …, in --allow-address: a host name or the address alone does not open it.',
  ],
  [
    'If it is the right place, name … or …`} in allowAddresses.',
    'If it is the right place, name … or …`} in --allow-address.',
  ],
  [
    'The URL of … is not encrypted, so anyone on the way could read and change what is sent. Use https, or name the host in allowAddresses.',
    'The URL of … is not encrypted, so anyone on the way could read and change what is sent. Use https, or name the host in --allow-address.',
  ],
  ['Use https, or name the host in allowAddresses.', 'Use https, or name the host in --allow-address.'],
  [
    '… in allowAddresses is an IPv4 address written as an IPv6 one. Give the IPv4 range itself, such as 10.0.0.0/8.',
    '… in --allow-address is an IPv4 address written as an IPv6 one. Give the IPv4 range itself, such as 10.0.0.0/8.',
  ],
  [
    '… in allowAddresses is no CIDR. Give an address and how many of its bits count, such as 10.0.0.0/8.',
    '… in --allow-address is no CIDR. Give an address and how many of its bits count, such as 10.0.0.0/8.',
  ],
  [
    '… in allowAddresses is no host name, address or CIDR. Give one like hooks.example.com, 10.0.0.8 or 10.0.0.0/8, without a port.',
    '… in --allow-address is no host name, address or CIDR. Give one like hooks.example.com, 10.0.0.8 or 10.0.0.0/8, without a port.',
  ],
  [
    '…, and … before it: that is no accident any more. Look at … for what is wrong, and raise maxDeadLetters to go on all the same.',
    '…, and … before it: that is no accident any more. Look at … for what is wrong, and raise --max-dead-letters to go on all the same.',
  ],
  [
    "The folder … is where deadLetter keeps its lock: give the export's state another folder.",
    "The folder … is where --dead-letters keeps its lock: give the export's state another folder.",
  ],
  [
    'The checkpoint does not say how far the forwarding came. Start over with restart: nothing was changed.',
    `The checkpoint does not say how far the forwarding came. Start over with --restart: ${nothingChanged}`,
  ],
  [
    'The spool was written by another version of Sluice. Use that version, or start over with restart: nothing was changed.',
    `The spool was written by another version of Sluice. Use that version, or start over with --restart: ${nothingChanged}`,
  ],
];

/** What names an option in a word that is none. */
const plainWords: readonly (readonly [message: string, meant: string])[] = [
  ['It wants less at once: lower the concurrency, or wait.', 'It wants less at once: lower --concurrency, or wait.'],
  ['batch.count is 0: it must be …', '--batch is 0: it must be …'],
];

test.each(plainWords)('the library, in plain words: %s', (message, meant) => {
  expect(inCommandLineWords(message, /^[a-z.]+(?= is)/.exec(message)?.[0])).toBe(meant);
});

/** Options that a program gives, and no command line. */
const unreachable: readonly string[] = [
  'The function given as apiKey failed, so there is no key to send. Call it by itself to see why.',
  'The API key is empty. Set apiKey to the key of your project.',
  'createClient needs an apiKey: the key of your project, or false for APIs that take none. If it comes from an environment variable, is that set?',
  "A checkpoint can't tell whether the operator given to perPage is still the same: name it with perPage(operator, { version }).",
  "The state can't tell whether the operator given to perPage is still the same: name it with perPage(operator, { version }).",
  "onExpired: 'restart-part' needs ….",
  'The sink … is slower than its source: … rows wait already. Pull with exportTo, raise buffer, or choose what to drop with overflow.',
  'there are more than maxPages (…) pages. Raise maxPages if that is right',
  'the API says that more rows follow but gives no cursor, and how many rows lie before is not known. Begin without startAt',
  "… has more than … rows. Raise toArray's max, or go through the rows one by one.",
  'holdAbove is …: it must be a share from 0 to 1.',
  'startAt is a cursor, but this plan has … parts. Give a position instead.',
  'startAt is no address of a page: it must be a path below the base address, with its query.',
  'startAt is no number of a page. Give one as text, e.g. "7", or begin without it.',
  'This API goes on at a cursor, and not behind a number of rows. Begin without startAt.',
  'This API goes on behind a number of rows, and not at a cursor. As startAt give a position that a walk has reached.',
  '….watch takes no maxRows: rows that are pushed beyond it would count as removed.',
  'startAt is no position of a watch. Give one that a page of it had.',
  'startAt is no position of this plan, which has … part(s).',
  '…. Name a file for such records with deadLetter, then run it again: it goes on here.',
  'A row is …, and a CSV needs objects. Make them with perPage(map(…)).',
  `The API "…" needs its base address, …({ baseUrl: 'https://…' }), and it is ….`,
  "A row can't be written as JSON: …. Turn its values into text with perPage(map(…)).",
];

test.each(said)('the library: %s', (message, meant) => {
  expect(inCommandLineWords(message.replace('.…', '.response'))).toBe(meant);
  expect(meant).not.toMatch(optionName);
});

test('every message of the library that names an option is in this table', () => {
  const sources = ['core', 'aptos', 'streams', 'exporters'].flatMap((name) => filesBelow(join(packages, name, 'src')));
  const found = sources.flatMap(sentencesIn).filter((sentence) => optionName.test(sentence));
  expect(new Set(found)).toEqual(new Set([...said.map(([message]) => message), ...unreachable]));
});

test.each([
  ['pageSize', '--page-size'],
  ['parts, pageSize', '--owner or --owners-per-request, --page-size'],
  ['columns', '--columns'],
  ['collection_whitelist, collection_blacklist', '--include-collections, --exclude-collections'],
  ['maxRows, offset', '--max-rows, --offset'],
  ['gzip, pagesPerMember', '--gzip'],
  ['bom, extra, format, guardFormulas, sink', '--format'],
  ['endpoint', '--forward'],
  ['bom, endpoint, extra, format, guardFormulas, sink', '--to or --forward'],
  ['guardFormulas, extra, bom', '--no-guard-formulas, --extra, --bom'],
  ['baseUrl', 'the base address'],
  ['paging, path or a parameter in it, shelf', 'paging, path or a parameter in it, shelf'],
  ['baseUrl, parts, pageSize, source', 'what is exported'],
  ['baseUrl, ignore, maxRows, pageSize, perPage', '--only'],
])('another plan, by the settings %s', (names, flags) => {
  const rest = 'Run it as before, or start over with restart: nothing was changed.';
  expect(inCommandLineWords(`The checkpoint belongs to another plan (${names}). ${rest}`)).toBe(
    `The checkpoint belongs to another plan (${flags}). ${rest.replace('with restart', 'with --restart')}`,
  );
});

test('another plan of a watch of holdings', () => {
  const said = 'The checkpoint belongs to another plan (owners, include, exclude).';
  expect(inCommandLineWords(said, undefined, 'aptos.walletNfts.changes')).toBe(
    'The checkpoint belongs to another plan (--owner, --include-collections, --exclude-collections).',
  );
});

test('another plan of a source that has no options of its own', () => {
  const said = 'The checkpoint belongs to another plan (parts, offset, pageSize, collection_whitelist).';
  expect(inCommandLineWords(said, undefined, 'library.books')).toBe(
    'The checkpoint belongs to another plan (a parameter that decides what is listed, the row to begin with, --page-size, collection_whitelist).',
  );
});

/** What looks like an option: a word in camel case, or a word that is one with us. */
const optionName = /(?<!-)\b(?:[a-z]+[A-Z]\w*|restart|^offset|timeouts|so extra)\b(?!-part)/m;

function filesBelow(folder: string): string[] {
  return (
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      // What the conformance suites say, the authors of plugins read.
      .filter((name) => name.endsWith('.ts') && !name.startsWith('testing'))
      .map((name) => join(folder, name))
  );
}

/** The texts of a source that have a blank in them, its comments and regular expressions left out. */
function sentencesIn(file: string): string[] {
  const literals =
    /\/\/.*|\/\*[^]*?\*\/|\/\^.*\$\/|'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\[^]|\$\{(?:[^{}`]|`[^`]*`)*\}|[^`\\])*)`/g;
  return [...readFileSync(file, 'utf8').matchAll(literals)]
    .map(([, ...texts]) =>
      texts
        .join('')
        .replace(/\$\{[^}]*\}/g, '…')
        .replaceAll("\\'", "'"),
    )
    .filter((text) => text.includes(' '));
}
