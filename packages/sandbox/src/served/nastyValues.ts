/** Token names that break careless readers and writers: separators, line ends, formulas, scripts, white space. */
export const nastyTexts: readonly string[] = [
  'The "Quoted" One',
  'commas, commas, commas',
  '"',
  '""',
  '"starts, and does not end',
  'two\nlines',
  'two\r\nlines of Windows',
  'an old\rMac',
  '\nleads with a line feed',
  '\rleads with a carriage return',
  'ends with CRLF\r\n',
  'semi;colon\tand tab',
  '🦊🌊 Fox of the Sea 🏳️‍🌈',
  'مجموعة الفن الرقمي',
  'אוסף דיגיטלי #7',
  'left \u202eright to left\u202c left',
  '東京の夜、雨',
  'Zoe\u0308 and Zoë',
  '=HYPERLINK("http://127.0.0.1/","click me")',
  '=SUM(A1:A9)',
  '+1',
  '-1',
  '-1+1',
  '@SUM(1,2)',
  '\t=1+1',
  '\u0000=1+1',
  '＝1＋1',
  '＠SUM(1,2)',
  '  leading spaces',
  'trailing spaces  ',
  '   ',
  '',
  'line\u2028separator and paragraph\u2029separator',
  '\ufeffstarts with a byte order mark',
  'back\\slash \\n \\u0000',
  '<script>alert(1)</script>',
  'null',
  'NaN',
  '0x1F',
  '1e1000',
  '007',
  '2024-01-02',
  'a very long text '.repeat(300),
];

/** Names of a few small collections. */
export const nastyCollectionNames: readonly string[] = [
  'The "Quoted" Collection',
  'Salt, Pepper, and Sons',
  'Two\nLines',
  'מפרץ شاطئ',
  '=HYPERLINK("http://127.0.0.1/","prize")',
  '@Home',
  '🦊',
  '  Roomy  ',
];

/** Amounts above 2^53, which a number would round, up to 256 bits; and 0. */
export const nastyAmounts: readonly string[] = [
  '9007199254740993',
  '18446744073709551615',
  '123456789012345678901234567890',
  '115792089237316195423570985008687907853269984665640564039457584007913129639935',
  '0',
];

/** Token properties: as text or as an object, with names like `__proto__`, or empty. */
export const nastyProperties: readonly (string | Readonly<Record<string, unknown>> | null)[] = [
  { background: 'Blue', level: 7, 'with,comma': 'and "quotes"' },
  { nested: { list: [1, null, { deep: true }], empty: {} } },
  // `fromEntries` defines an own property, like `JSON.parse`; a literal would set the prototype.
  Object.fromEntries([
    ['__proto__', { polluted: 'yes' }],
    ['constructor', { prototype: { polluted: 'yes' } }],
  ]),
  '{"__proto__":{"polluted":"yes"},"toString":"not a function"}',
  '{"a":"line\\nfeed","b":"tab\\t","c":"\\u2028"}',
  '{"twice":1,"twice":2}',
  '{"big":9007199254740993}',
  '{"cut":',
  '[]',
  'null',
  '',
  null,
  {},
];
