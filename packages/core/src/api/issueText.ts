import { SluiceError } from '../errors.js';
import type { DocumentReader } from '../source/documentReader.js';
import { kindOf } from '../values.js';
import type { StandardIssue } from './standardSchema.js';

interface IssueText {
  /** Where in the value, as it goes on behind the value's own path, e.g. `.price` or `[2].name`; empty for the value itself. */
  readonly path: string;
  readonly what: string;
}

const longestText = 200;
const longestRead = 10_000;
const maxLeaves = 2000;
/** Values shorter than this are no secrets, and stand in any sentence. */
const shortestShown = 4;
/** A message may cut a value short, but not before it has begun. */
const beginning = 8;

/** What is wrong with a value, in the words of the first issue, without showing any of the value. */
export function issuesText(issues: readonly StandardIssue[], subject: unknown): IssueText {
  const [{ message, path = [] } = { message: '' }, ...others] = issues;
  const steps = path.map((step) => (typeof step === 'object' ? step.key : step));
  const what =
    shownText(message, subject) ?? `the schema refuses it, and it is ${kindOf(steps.reduce(ownValue, subject))}`;
  return {
    path: steps.map(written).join('').slice(0, longestText),
    what: others.length === 0 ? what : `${what} (and ${others.length} more)`,
  };
}

/**
 * A message about a value, on one line; `undefined` if it shows any of it. Rows hold what is nobody's business, errors are logged, and
 * some libraries quote what they refuse.
 */
function shownText(message: string, subject: unknown): string | undefined {
  const line = message.slice(0, longestRead).replace(/\s+/g, ' ').trim().replace(/\.$/, '');
  if (line === '' || leavesOf(subject).some((leaf) => shows(line, leaf))) return undefined;
  return line.length > longestText ? `${line.slice(0, longestText)}…` : line;
}

function ownValue(value: unknown, step: PropertyKey): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
  return Reflect.get(value, step);
}

function written(step: PropertyKey): string {
  if (typeof step === 'number') return `[${step}]`;
  const name = String(step);
  return /^[A-Za-z_$][\w$-]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function shows(line: string, leaf: string): boolean {
  if (leaf.length < shortestShown) return false;
  const start = leaf.slice(0, beginning);
  return line.includes(start) || line.includes(JSON.stringify(start).slice(1, -1));
}

function valuesOf(value: object): readonly unknown[] {
  const values: readonly unknown[] = Object.values(value);
  return values.slice(0, maxLeaves);
}

/** The texts and numbers in a value, as text; of a huge one, the first. */
function leavesOf(value: unknown): readonly string[] {
  const leaves: string[] = [];
  const left: unknown[] = [value];
  while (left.length > 0 && leaves.length < maxLeaves) {
    const next = left.pop();
    if (typeof next === 'string' || typeof next === 'number') leaves.push(String(next));
    else if (typeof next === 'object' && next !== null) left.push(...valuesOf(next));
  }
  return leaves;
}

/**
 * The error for what a definition's own code has thrown at an answer: with the place, and without the thrown error as its cause, which
 * may quote the answer.
 */
export function thrownFault(error: unknown, path: string, subject: unknown, read: DocumentReader): SluiceError {
  if (SluiceError.is(error)) return error;
  const shown = shownText(String(error), subject);
  return read.fault(path, `the source's definition failed at it${shown === undefined ? '' : ` with ${shown}`}`);
}
