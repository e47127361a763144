import { isRecord } from '../values.js';

/**
 * Standard Schema, version 1: the interface of Zod, Valibot, ArkType and others. Copied, as its authors intend, so it
 * needs no dependency.
 *
 * @see https://standardschema.dev, version 1
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The members that the standard defines. */
  readonly '~standard': StandardProperties<Input, Output>;
}

/** The value of `~standard`. */
export interface StandardProperties<Input, Output> {
  readonly version: 1;
  readonly vendor: string;
  /** Returns the validated value or its issues. */
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  /** Types for the compiler only. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
}

/** The validated value, or its issues. */
export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

/** One issue of a value. */
export interface StandardIssue {
  readonly message: string;
  /** The place in the value; a step is a name or an object with one. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * A schema must be synchronous: the same row must always give the same result, or exports could not resume, and an
 * asynchronous validation could not be cancelled. Zod also becomes asynchronous if a function of the schema throws, so
 * the two cannot be distinguished.
 */
export const asyncSchemaText =
  'its schema returned no result at once: it is asynchronous, or one of its functions threw. Let it only check the value, and do slow work after the source';

/** Whether a result is synchronous. A promise is recognized by `then`, and its rejection is ignored. */
export function isResult<Output>(
  result: StandardResult<Output> | Promise<StandardResult<Output>>,
): result is StandardResult<Output> {
  if (!('then' in result)) return true;
  result.then(undefined, () => undefined);
  return false;
}

/** JavaScript callers may pass anything. */
export function isStandard(schema: object): boolean {
  const standard: unknown = Reflect.get(schema, '~standard');
  return isRecord(standard) && typeof standard['validate'] === 'function';
}

export const notStandard =
  'it is not a Standard Schema. Zod has been one since 3.24, Valibot since 1.0, ArkType since 2.0';
