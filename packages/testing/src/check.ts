import { SluiceError, type SluiceErrorCode } from '@sluice/core';
import { canonicalJson, findLostInJson } from './plainJson.js';

/** @throws Error with this message unless the condition holds. */
export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

/** Compares two JSON values. @param what names the actual one, e.g. "The first page's position". */
export function checkSame(actual: unknown, expected: unknown, what: string): void {
  check(
    canonicalJson(actual) === canonicalJson(expected),
    `${what} is ${show(actual)}, but must be ${show(expected)}.`,
  );
}

/** @throws Error unless the value survives a round trip through JSON. */
export function checkPlainJson(value: unknown, what: string): void {
  const lost = findLostInJson(value);
  check(
    lost === undefined,
    `${what} must be plain JSON, as it is stored in a checkpoint, but ${lost ?? ''}: ${show(value)}.`,
  );
}

/** Compares rows, in order. @param when e.g. "After a crash". */
export function checkRows(actual: readonly unknown[], expected: readonly unknown[], when: string): void {
  const found = actual.map(canonicalJson);
  const at = expected.findIndex((row, index) => found[index] !== canonicalJson(row));
  if (at === -1 && actual.length === expected.length) return;
  const index = at === -1 ? expected.length : at;
  const counts = `${when}: ${actual.length} rows instead of ${expected.length}`;
  throw new Error(
    `${counts}. Row ${index} (from 0) is ${index in actual ? show(actual[index]) : 'missing'}, and ${index in expected ? `must be ${show(expected[index])}` : 'should not be there'}.`,
  );
}

/** Checks that no expected row is missing and that all rows were written. Repeated rows are allowed. */
export function checkNoneLost(
  actual: readonly unknown[],
  { expected, written }: { readonly expected: readonly unknown[]; readonly written: readonly unknown[] },
  when: string,
): void {
  const found = new Set(actual.map(canonicalJson));
  const lost = expected.findIndex((row) => !found.has(canonicalJson(row)));
  check(lost === -1, `${when}: row ${lost} (from 0), ${show(expected[lost])}, is lost.`);
  const known = new Set(written.map(canonicalJson));
  const foreign = actual.findIndex((row) => !known.has(canonicalJson(row)));
  check(foreign === -1, `${when}: ${show(actual[foreign])} is there, but was never written.`);
}

/** How a call failed. */
export interface Failure {
  readonly error: unknown;
}

/** Calls, and returns how that failed; `undefined` if it succeeded. */
export async function catchFailure(call: () => unknown): Promise<Failure | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** Checks that a call failed with a SluiceError. @param what e.g. "A second watch must be refused with a LockError" */
export function checkSluiceError(failure: Failure | undefined, what: string, code?: SluiceErrorCode): void {
  if (!SluiceError.is(failure?.error, code))
    throw new Error(`${what}, but ${failure ? `it failed with ${show(failure.error)}` : 'it succeeded'}.`);
}

/** A value as text for a message. */
export function show(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  const text = typeof value === 'string' ? value : stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function stringify(value: unknown): string {
  try {
    return typeof value === 'object' ? JSON.stringify(value) : scalarText(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function scalarText(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return value.toString();
  return typeof value;
}
