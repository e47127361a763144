import fc from 'fast-check';
import { charsets, harmKinds, packings, type Charset, type Harm, type Packing } from './body.js';
import { framings, type Framing } from './framing.js';
import { oddHeaders, type Header } from './oddHeaders.js';
import { badLines, okLines, statuses } from './oddLines.js';

/** How a document is sent: everything that a server decides besides the content. */
export interface Wire {
  readonly line: string;
  /** The status in the status line, if it is readable. */
  readonly status: number | undefined;
  /** Interim responses before the response (1xx). */
  readonly before: readonly string[];
  readonly headers: readonly Header[];
  readonly charset: Charset;
  readonly packing: Packing;
  readonly harm: Harm;
  readonly framing: Framing;
  /** Bytes of each piece that is written; 0 writes everything at once. */
  readonly pace: number;
}

const harms: fc.Arbitrary<Harm> = fc.record({
  kind: fc.constantFrom(...harmKinds),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** Mostly correct, and odd in one or two ways. */
export const wire: fc.Arbitrary<Wire> = fc
  .record({
    status: fc.oneof(
      { weight: 5, arbitrary: fc.constant(200) },
      { weight: 2, arbitrary: fc.constantFrom(...statuses) },
    ),
    okLine: fc.constantFrom(...okLines),
    badLine: rarely(undefined, fc.constantFrom(...badLines), 30),
    before: rarely(
      [],
      fc.array(
        fc.constantFrom('HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n', 'HTTP/1.1 102 Processing\r\n__proto__: x\r\n'),
        { maxLength: 20 },
      ),
      20,
    ),
    headers: rarely([], fc.array(fc.constantFrom(...oddHeaders), { minLength: 1, maxLength: 3 }), 2),
    charset: rarely<Charset>('utf-8', fc.constantFrom(...charsets), 6),
    packing: rarely<Packing>('plain', fc.constantFrom(...namesOf(packings)), 2),
    harm: rarely<Harm>({ kind: 'none', at: 0 }, harms, 6),
    framing: rarely<Framing>('length', fc.constantFrom(...framings), 2),
    pace: rarely(0, fc.constantFrom(1_000, 100), 8),
  })
  .map(({ status, okLine, badLine, ...rest }) => ({
    line: badLine ?? (status === 200 ? okLine : lineOf(status)),
    status: badLine === undefined ? status : undefined,
    ...rest,
  }));

/** Correct in every way. */
export const plainWire: Wire = {
  line: 'HTTP/1.1 200 OK',
  status: 200,
  before: [],
  headers: [],
  charset: 'utf-8',
  packing: 'plain',
  harm: { kind: 'none', at: 0 },
  framing: 'length',
  pace: 0,
};

/**
 * Each oddity separately: every header with every kind of status, every damage to every compressed body, and all others
 * once.
 */
export function* oddWires(): Generator<Wire> {
  const telling = [200, 302, 404, 429, 503];
  for (const line of okLines) yield { ...plainWire, line };
  for (const line of badLines) yield { ...plainWire, line, status: undefined };
  for (const status of statuses) yield { ...plainWire, line: lineOf(status), status };
  for (const header of oddHeaders)
    for (const status of telling) yield { ...plainWire, line: lineOf(status), status, headers: [header] };
  for (const charset of charsets) yield { ...plainWire, charset };
  for (const framing of framings) yield { ...plainWire, framing };
  for (const packing of namesOf(packings)) {
    yield { ...plainWire, packing };
    for (const kind of harmKinds) yield { ...plainWire, packing, harm: { kind, at: 0.5 } };
  }
}

function lineOf(status: number): string {
  return `HTTP/1.1 ${status} X`;
}

/** Once in `times`, something else. */
function rarely<T>(usual: T, other: fc.Arbitrary<T>, times: number): fc.Arbitrary<T> {
  return fc.oneof({ weight: times - 1, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

function namesOf<T extends object>(record: T): (keyof T)[] {
  return Object.keys(record) as (keyof T)[];
}
