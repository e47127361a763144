import { SluiceError } from '../../errors.js';
import { doesItFit, type DocumentReader } from './documentReader.js';
import { kindOf } from '../../values.js';
import type { StandardIssue } from '../standardSchema.js';

interface IssueText {
  /** The place in the value, as a suffix to its path, e.g. `.price` or `[2].name`; empty for the value itself. */
  readonly path: string;
  readonly what: string;
}

const longestText = 200;
const longestMessage = 10_000;
const maxLeaves = 2000;
/** Shorter values do not count as quoted: they are not secrets, and occur in any sentence. */
const shortestQuote = 4;
/** This many first characters count as a quote, since messages may quote only the beginning of a value. */
const quotedLength = 8;

/** Describes the first issue of a value, without quoting the value. */
export function issuesText(issues: readonly StandardIssue[], subject: unknown): IssueText {
  const [{ message, path = [] } = { message: '' }, ...others] = issues;
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step));
  const what =
    safeText(message, subject) ?? `the schema refuses it, and it is ${kindOf(steps.reduce(ownValue, subject))}`;
  return {
    path: steps.map(pathSuffix).join('').slice(0, longestText),
    what: others.length === 0 ? what : `${what} (and ${others.length} more)`,
  };
}

/** A message on one line; `undefined` if it quotes the value: rows may be private, and errors are logged. */
function safeText(message: string, subject: unknown): string | undefined {
  const line = message.slice(0, longestMessage).replace(/\s+/g, ' ').trim().replace(/\.$/, '');
  if (line === '' || collectLeaves(subject).some((leaf) => quotes(line, leaf))) return undefined;
  return line.length > longestText ? `${line.slice(0, longestText)}…` : line;
}

function ownValue(value: unknown, step: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return Reflect.get(value, step);
}

function pathSuffix(step: PropertyKey): string {
  if (typeof step === 'number') return `[${step}]`;
  const name = String(step);
  return /^[A-Za-z_$][\w$-]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function quotes(line: string, leaf: string): boolean {
  if (leaf.length < shortestQuote) return false;
  const start = leaf.slice(0, quotedLength);
  return line.includes(start) || line.includes(JSON.stringify(start).slice(1, -1));
}

function listValues(value: object): readonly unknown[] {
  const values: readonly unknown[] = Object.values(value);
  return values.slice(0, maxLeaves);
}

/** The texts and numbers in a value; the first 2,000 at most. */
function collectLeaves(value: unknown): readonly string[] {
  const leaves: string[] = [];
  const left: unknown[] = [value];
  while (left.length > 0 && leaves.length < maxLeaves) {
    const next = left.pop();
    if (typeof next === 'string' || typeof next === 'number') leaves.push(String(next));
    else if (typeof next === 'object' && next !== null) left.push(...listValues(next));
  }
  return leaves;
}

/** Locates an error of a definition's own code. The original is not its cause: it may quote the response. */
export function thrownFault(error: unknown, path: string, subject: unknown, read: DocumentReader): SluiceError {
  if (SluiceError.is(error)) return error;
  const shown = safeText(String(error), subject);
  const what = `the source's definition failed at it${shown === undefined ? '' : ` with ${shown}`}`;
  return read.fault(path, what, doesItFit);
}
