/**
 * What Zod, Valibot, ArkType and others make: a schema that any program can ask, whichever library it is of. An interface and no
 * dependency, as its authors mean it to be.
 *
 * @see https://standardschema.dev, version 1
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** What the standard asks for. */
  readonly '~standard': StandardProperties<Input, Output>;
}

/** What stands under `~standard`. */
export interface StandardProperties<Input, Output> {
  readonly version: 1;
  readonly vendor: string;
  /** What a value is, or what is wrong with it. */
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  /** For the compiler only. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
}

/** What became of a value: what the schema made of it, or what is wrong with it. */
export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

/** One fault of a value. */
export interface StandardIssue {
  readonly message: string;
  /** Where in the value; a step is a name or an object with one. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/**
 * Why a schema must answer at once: the same row must always give the same, or no export could be gone on with; and what a schema waits
 * for nobody could stop. Zod goes on asynchronously where a function of the schema's has thrown, so the two can't be told apart.
 */
export const lateSchema =
  'its schema gave no result at once, so it is asynchronous, or a function of it has thrown. Let it only look at the value, and put what takes time behind the source';

/** Whether a schema has answered at once. Promises come in many kinds, so it is their `then` that tells them. If not, nobody waits for what becomes of it. */
export function isResult<Output>(
  result: StandardResult<Output> | Promise<StandardResult<Output>>,
): result is StandardResult<Output> {
  if (!('then' in result)) return true;
  result.then(undefined, () => undefined);
  return false;
}
