import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secrets } from '../../src/http/secrets.js';
import { canary, expectNoKey } from './canary.js';

const hexOf = (text: string, prefix: string, digits: number, suffix = ''): string =>
  [...text].map((c) => prefix + c.charCodeAt(0).toString(16).padStart(digits, '0') + suffix).join('');
const jsonOf = (text: string): string => JSON.stringify(text).slice(1, -1);
const base64Of = (text: string): string => Buffer.from(text).toString('base64');

/** Ways in which a server, or what stands before it, writes a text into another one. */
const encoders: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'for a URL': encodeURIComponent,
  'for a URL, in lower case': (text) => encodeURIComponent(text).replace(/%../g, (escape) => escape.toLowerCase()),
  'for a URL, every character': (text) => hexOf(text, '%', 2),
  'in an address, with what looks escaped left as it is': (text) =>
    text.replace(/["'<>`{}\\]/g, (c) => hexOf(c, '%', 2)),
  'for a form': (text) => new URLSearchParams({ text }).toString().slice(5),
  'for a URL within a URL': (text) => encodeURIComponent(encodeURIComponent(text)),
  'as a JSON string': jsonOf,
  'as a JSON string with its slashes escaped': (text) => jsonOf(text).replaceAll('/', '\\/'),
  'as a JSON string in code points': (text) => hexOf(text, '\\u', 4),
  'as a JSON string within a JSON string': (text) => jsonOf(jsonOf(text)),
  'as a JSON string within a URL': (text) => encodeURIComponent(jsonOf(text)),
  'for a web page': (text) => text.replace(/[&<>"']/g, (c) => `&#${String(c.charCodeAt(0))};`),
  'for a web page, by name': (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  'for a web page, in hexadecimal': (text) => hexOf(text, '&#x', 2, ';'),
  'for a web page, with zeros': (text) => [...text].map((c) => `&#0000000${String(c.charCodeAt(0))};`).join(''),
  'for a web page, in hexadecimal with zeros': (text) => hexOf(text, '&#X', 16, ';'),
  'for a web page, with many zeros': (text) =>
    [...text].map((c) => `&#${'0'.repeat(200)}${String(c.charCodeAt(0))};`).join(''),
  'for a web page, in hexadecimal with many zeros': (text) => hexOf(text, '&#x', 99),
  'for a web page with many zeros, within a URL': (text) => encodeURIComponent(hexOf(text, '&#x', 40, ';')),
  'for a web page, without semicolons': (text) => hexOf(text, '&#x', 2),
  'for a web page, by other names': (text) =>
    text.replaceAll('&', '&amp;').replaceAll('+', '&plus;').replaceAll('/', '&sol;').replaceAll('=', '&equals;'),
  'for a web page, by the names of what keys are made of': (text) =>
    text.replace(
      /[&.:_$@]/g,
      (c) => `&${{ '&': 'amp', '.': 'period', ':': 'colon', _: 'lowbar', $: 'dollar', '@': 'commat' }[c]!};`,
    ),
  'in hex': (text) => hexOf(text, '', 2),
  'in hex, as bytes of a shell': (text) => hexOf(text, '\\x', 2),
  'in base64': base64Of,
  'in base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
  'in base64, percent-encoded': (text) => encodeURIComponent(base64Of(text)),
  'in base64, as a JSON string with its slashes escaped': (text) => base64Of(text).replaceAll('/', '\\/'),
  'in base64 behind one more byte': (text) => base64Of(`:${text}`),
  'in base64 behind two more bytes and before others': (text) => base64Of(`me:${text}...`),
  'in base64, as a JSON document': (text) => base64Of(JSON.stringify({ offset: 100, key: text })),
  'in base64, as a query': (text) => base64Of(`key=${encodeURIComponent(text)}&offset=100`),
};

/** Visible characters, as keys are made of. */
const secretTexts = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 8,
  maxLength: 60,
});
/** Texts in which no secret can hide, and which end and begin no escape and no base64. */
const surroundings = fc.string({ unit: fc.constantFrom(' ', '·', 'é', '\n', '€') });

describe('a secret that was written', () => {
  test.each(Object.entries(encoders))('T2 %s is hidden, and nothing else', (_how, encode) => {
    fc.assert(
      fc.property(secretTexts, surroundings, surroundings, (secret, before, after) => {
        const secrets = new Secrets();
        secrets.add(secret);
        const written = encode(secret);
        const redacted = secrets.redact(before + written + after);
        expect(redacted.startsWith(before)).toBe(true);
        expect(redacted.endsWith(after)).toBe(true);
        expect(redacted).toContain('[hidden]');
        expect(redacted).not.toContain(written);
        expect(secrets.has(written)).toBe(true);
        expect(secrets.has(before + after)).toBe(false);
        expect(secrets.redact(redacted)).toBe(redacted);
      }),
      { numRuns: 200 },
    );
  });

  test.each(Object.entries(encoders))('T2 %s leaves no piece behind', (_how, encode) => {
    const secrets = new Secrets();
    secrets.add(canary);
    expectNoKey(secrets.redact(`x${encode(canary)}y ${encode(canary)}${encode(canary)}`));
  });

  test.each(Object.entries(encoders))('T2 %s is hidden where the text breaks off in it', (_how, encode) => {
    const secrets = new Secrets();
    secrets.add(canary);
    const written = encode(canary);
    for (let length = 1; length < written.length; length += 1)
      expectNoKey(secrets.redact(`{"message":"no ${written.slice(0, length)}`));
  });
});

/** Named character references of one ASCII character, as the standard lists them; those that may lack the semicolon twice. */
const htmlNames: Readonly<Record<string, string>> = {
  '!': 'excl;',
  '"': 'QUOT QUOT; quot quot;',
  '#': 'num;',
  $: 'dollar;',
  '%': 'percnt;',
  '&': 'AMP AMP; amp amp;',
  "'": 'apos;',
  '(': 'lpar;',
  ')': 'rpar;',
  '*': 'ast; midast;',
  '+': 'plus;',
  ',': 'comma;',
  '.': 'period;',
  '/': 'sol;',
  ':': 'colon;',
  ';': 'semi;',
  '<': 'LT LT; lt lt;',
  '=': 'equals;',
  '>': 'GT GT; gt gt;',
  '?': 'quest;',
  '@': 'commat;',
  '[': 'lbrack; lsqb;',
  '\\': 'bsol;',
  ']': 'rbrack; rsqb;',
  '^': 'Hat;',
  _: 'UnderBar; lowbar;',
  '`': 'DiacriticalGrave; grave;',
  '{': 'lbrace; lcub;',
  '|': 'VerticalLine; verbar; vert;',
  '}': 'rbrace; rcub;',
};

test.each(Object.entries(htmlNames).flatMap(([char, names]) => names.split(' ').map((name) => [name, char])))(
  'T2 a key is hidden in a web page that writes &%s for %s',
  (name = '', char = '') => {
    const secrets = new Secrets();
    secrets.add(`sk${char}live${char}9f3b27${char}x`);
    const written = `sk&${name}live&${name}9f3b27&${name}x`;
    expect(secrets.redact(`<p>no ${written}</p>`)).toBe('<p>no [hidden]</p>');
    expect(secrets.redact(`<p>no ${encodeURIComponent(written)}</p>`)).toBe('<p>no [hidden]</p>');
  },
);

test('T2 a key is hidden in a web page that breaks its lines by name', () => {
  const secrets = new Secrets();
  secrets.add('line\tone\ntwo');
  expect(secrets.redact('no line&Tab;one&NewLine;two')).toBe('no [hidden]');
});

describe('secrets', () => {
  test.each(['AbCdEfGhIjKlMnOpQrStUvWx', 'abcdefghijklmnopqrstuvwx', 'QWERTZUIOPASDFGHJKLY'])(
    'T2 of letters only (%s) are hidden in halves, though each reads like a word',
    (secret) => {
      const secrets = new Secrets();
      secrets.add(secret);
      const half = secret.length / 2;
      const first = secret.slice(0, half);
      const second = secret.slice(half);
      const redacted = secrets.redact(JSON.stringify({ first, second }));
      expect(redacted).toBe(JSON.stringify({ first: '[hidden]', second: '[hidden]' }));
    },
  );

  test.each([
    ['a beginning of half of it', 'WkHsTbXcQzRv', '[hidden]'],
    ['an end of half of it', 'LmNpYdGaEjSu', '[hidden]'],
    ['three quarters', 'WkHsTbXcQzRvLmNpYd', '[hidden]'],
    ['three quarters in base64', Buffer.from('WkHsTbXcQzRvLmNpYd').toString('base64'), '[hidden]'],
    [
      'three quarters in hex, in upper case',
      Buffer.from('XcQzRvLmNpYdGaEjSu').toString('hex').toUpperCase(),
      '[hidden]',
    ],
    ['less than half of it', 'WkHsTbXcQzR', 'WkHsTbXcQzR'],
    ['what is neither at its beginning nor at its end', 'sTbXcQzRvLmNpYd', 'sTbXcQzRvLmNpYd'],
  ])('T2 are redacted by one rule for parts: %s', (_what, part, shown) => {
    const secrets = new Secrets();
    secrets.add('WkHsTbXcQzRvLmNpYdGaEjSu');
    expect(secrets.redact(`no "${part}"`)).toBe(`no "${shown}"`);
    expect(secrets.has(`{"after":"${part}"}`)).toBe(shown === '[hidden]');
  });

  test('T2 in base64 within a JSON string are known whole, and nothing around them goes', () => {
    // In JSON it has 24 characters, so that its base64 begins and ends with it.
    const secret = 'WkHs"TbXc\\QzRvLmNpYdGa';
    const secrets = new Secrets();
    secrets.add(secret);
    const inJson = jsonOf(secret);
    expect(inJson).toHaveLength(24);
    expect(secrets.has(base64Of(`(((${inJson})))`))).toBe(true);
    expect(secrets.redact(base64Of(`(((${inJson})))`))).toBe(`${base64Of('(((')}[hidden]${base64Of(')))')}`);
  });

  test('T2 are hidden before a text is cut', () => {
    const length = fc.nat(200);
    fc.assert(
      fc.property(
        secretTexts,
        surroundings,
        length,
        fc.constantFrom(...Object.values(encoders)),
        (secret, before, cut, encode) => {
          const secrets = new Secrets();
          secrets.add(secret);
          const text = before + encode(secret) + before + encode(secret);
          const redacted = secrets.redact(text, cut);
          expect(secrets.redact(text).startsWith(redacted.replace(/\[hidden\]$/, ''))).toBe(true);
          // What is left of the secret's place is shorter than any piece of the secret that says something.
          const pieces = Array.from({ length: secret.length - 4 }, (_, at) => secret.slice(at, at + 5));
          expect(pieces.filter((piece) => redacted.replaceAll('[hidden]', '').includes(piece))).toEqual([]);
        },
      ),
    );
  });

  test.each(['0', '%30', '&#48;', '\\u0030'])(
    'T2 are hidden behind any number of zeros, written %s',
    { tags: ['slow'] },
    (zero) => {
      const secrets = new Secrets();
      secrets.add(canary);
      const zeros = zero.repeat(10_000);
      const written = [...canary].map((c) => `&#${zeros}${String(c.charCodeAt(0))};`).join('');
      const text = `no ${written} here`;
      // No diff of so many zeros.
      expect(secrets.redact(text) === 'no [hidden] here').toBe(true);
      for (const length of [100, zeros.length * 3, 100_000])
        expect(secrets.redact(text, length) === 'no [hidden]').toBe(true);
    },
  );

  test('T2 are looked for in linear time among zeros that are no secret', { tags: ['slow'] }, () => {
    const secrets = new Secrets();
    secrets.add(canary);
    const text = `${'&#'.repeat(200_000)}${'&#0'.repeat(200_000)}&#${'0'.repeat(600_000)}`;
    expect(secrets.has(text)).toBe(false);
    expect(secrets.redact(text, 100)).toHaveLength(100);
  });

  test('T2 may be many, and one may be part of another', () => {
    const secrets = new Secrets();
    for (const secret of ['abcdefgh', 'xxabcdefghxx', 'ghijklmn']) secrets.add(secret);
    expect(secrets.redact('a xxabcdefghxx b abcdefghijklmn c ghijklmn')).toBe('a [hidden] b [hidden] c [hidden]');
  });

  test('T2 may be as long as they like', () => {
    const secret = Buffer.alloc(30_000, 'sEcReT/+').toString('base64').slice(0, 20_000);
    const secrets = new Secrets();
    secrets.add(secret);
    expect(secrets.redact(`a ${secret} b ${encodeURIComponent(secret)} c`)).toBe('a [hidden] b [hidden] c');
  });

  test('T2 may be short: then a few characters of base64 are not taken for them', () => {
    const secrets = new Secrets();
    secrets.add('key');
    expect(secrets.redact('a key in a monkey, and a2V5')).toBe('a [hidden] in a mon[hidden], and a2V5');
  });

  test('T2 stay out of what an object shows', () => {
    const secrets = new Secrets();
    secrets.add(canary);
    expectNoKey(secrets);
  });

  test('are not there to begin with', () => {
    const secrets = new Secrets();
    secrets.add('');
    expect(secrets.redact('nothing to hide: %41 \\u0041 &amp;')).toBe('nothing to hide: %41 \\u0041 &amp;');
    expect(secrets.has('')).toBe(false);
  });

  test('T2 are hidden in a text that was shown before they were known', () => {
    const secrets = new Secrets();
    const names = Array.from({ length: 100 }, (_, nth) => `route ${nth} of 3f2b8c1e-7a64`);
    for (const isKnown of [false, true]) {
      if (isKnown) secrets.add('3f2b8c1e-7a64');
      for (const name of [...names, ...names.slice(0, 3)])
        expect(secrets.redact(name, 500)).toBe(isKnown ? name.replace('3f2b8c1e-7a64', '[hidden]') : name);
    }
    // A shorter length is another text.
    expect(secrets.redact('route 1 of nothing', 5)).toBe('route');
    expect(secrets.redact('route 1 of nothing')).toBe('route 1 of nothing');
  });

  test('T2 are shown again when each addition is undone, and others are not', () => {
    const secrets = new Secrets();
    for (const secret of ['token-of-today', 'token-of-today', 'qx81-zz09-kk']) secrets.add(secret);
    const text = 'token-of-today qx81-zz09-kk';
    secrets.remove('never-added');
    secrets.remove('token-of-today');
    expect(secrets.redact(text)).toBe('[hidden] [hidden]');
    secrets.remove('token-of-today');
    expect(secrets.redact(text)).toBe('token-of-today [hidden]');
    secrets.remove('token-of-today');
    secrets.add('token-of-today');
    expect(secrets.redact(text)).toBe('[hidden] [hidden]');
  });

  test('T2 in text of any kind are looked for without an error, and other text stays', () => {
    const awkward = fc.string({
      unit: fc.constantFrom('%', '2', '5', '\\', 'u', '0', '&', '#', 'x', ';', 'quot', 'a', '😀'),
    });
    fc.assert(
      fc.property(awkward, fc.nat(40), (text, length) => {
        const secrets = new Secrets();
        secrets.add('not-in-there');
        expect(secrets.redact(text)).toBe(text);
        expect(secrets.redact(text, length)).toBe(text.slice(0, length));
      }),
    );
  });
});
