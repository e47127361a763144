/** A key as many services give them. */
export const uuidKey = '3f2b8c1e-7a64-4d0f-9b55-0c1d2e3f4a5b';

interface Echo {
  /** What a server answers. */
  readonly body: string;
  /** What of it nobody may read afterwards. */
  readonly leaks: readonly string[];
}

const hex = Buffer.from(uuidKey).toString('hex');
const base64 = (before: string): string => Buffer.from(`${before}${uuidKey}`).toString('base64');

/** The ways in which servers were seen, or are to be feared, to repeat a key: worked out without the code that is tested. */
export const keyEchoes: Readonly<Record<string, Echo>> = {
  'as it is': echo(uuidKey),
  'in upper case': echo(uuidKey.toUpperCase()),
  'in mixed case': echo([...uuidKey].map((each, at) => (at % 2 === 0 ? each.toUpperCase() : each)).join('')),
  'in hex': echo(hex),
  'in hex, in upper case': echo(hex.toUpperCase()),
  'in hex of its upper case': echo(Buffer.from(uuidKey.toUpperCase()).toString('hex')),
  'in hex, as bytes of a shell': echo(hex.replace(/../g, '\\x$&')),
  'in a URL': echo([...uuidKey].map((each) => `%${Buffer.from(each).toString('hex')}`).join('')),
  'in a JSON string': echo([...uuidKey].map((each) => `\\u00${Buffer.from(each).toString('hex')}`).join('')),
  'in upper case, in a URL within a URL': echo(
    [...uuidKey.toUpperCase()].map((each) => `%25${Buffer.from(each).toString('hex')}`).join(''),
  ),
  'in base64': echo(base64('')),
  'in base64 behind a byte': echo(base64(':'), base64(':').slice(4, -4)),
  'in base64 behind two bytes': echo(base64('k:'), base64('k:').slice(4, -4)),
  'in base64 of its upper case': echo(Buffer.from(uuidKey.toUpperCase()).toString('base64')),
  'split over two strings': halves(uuidKey, 18),
  'all but its beginning': echo(uuidKey.slice(10)),
  'all but its end': echo(uuidKey.slice(0, -10)),
  'in a web page, with zeros': echo([...uuidKey].map((each) => `&#000${each.charCodeAt(0)};`).join('')),
  'split over two strings, in upper case': halves(uuidKey.toUpperCase(), 18),
};

function echo(text: string, leak = text): Echo {
  return { body: JSON.stringify({ message: 'no' }).replace('no', () => `key ${text} is not known`), leaks: [leak] };
}

function halves(text: string, at: number): Echo {
  const first = text.slice(0, at);
  const second = text.slice(at);
  return { body: JSON.stringify({ prefix: first, suffix: second }), leaks: [first, second] };
}
