import { checkOptions } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import { describeParams, type ParamDescription, decodeParams } from '../requests/decodeParams.js';
import type { RequestSpec } from '../requests/requestSpec.js';
import { readField } from '../responses/fieldKey.js';
import { isStandard, notStandard, type StandardSchema } from '../standardSchema.js';
import { listValueNames } from '../requests/template.js';

/** Options of {@link rowOf}. */
export interface RowOfOptions<Parent extends object, Params extends object, In extends object, Given extends object> {
  /** The parents: a source of the same API, by its name there. Its rows must have a `key`. */
  readonly source: string;
  /**
   * The parameters of a parent's listing: all that its `path`, `query` and so on need. They are recorded with the key
   * before the listing is requested. Either fields of the parent, e.g. `{ repo: '{name}' }`, each of them text or a
   * number; or a function that returns plain JSON, whose `undefined` values are left out.
   */
  readonly params: (parent: Parent, given: Given) => Params;
  /** Validates the given parameters. Default: only the compiler checks them, by the second parameter of `params`. */
  readonly given?: StandardSchema<In, Given>;
  /** The parameters of the parents' source. Default: the given ones. */
  readonly parentParams?: (given: Given) => object;
}

/** The parents of a listing, as {@link rowOf} describes them. */
export interface Each<In, Params> {
  readonly source: string;
  /** All given parameters; absent if they are unknown. */
  readonly known: readonly ParamDescription[] | undefined;
  /** The parameters that are fields of the parent; `undefined` if a function makes them. */
  readonly fields: ParentFields | undefined;
  /** Carries the type of the given parameters. */
  readonly takes?: (given: In) => void;
  /** Carries the type of the parameters of a parent's listing. */
  readonly gives?: (params: Params) => void;
  /** Validates the given parameters of the source with this name. @throws ConfigError. */
  begin(name: string, given: object): GivenParams;
}

/** Parameters that are fields of a parent, e.g. `{ repo: '{name}' }`. */
type ParentFields = Readonly<Record<string, `{${string}}`>>;

interface GivenParams {
  /** The given parameters, for the plan. */
  readonly given: object;
  /** The parameters of the parents' source. */
  readonly parents: object;
  /** The parameters of a parent's listing. */
  readonly of: (parent: object) => object;
}

/**
 * The parents of a listing: it has one partition for each row of another source of the API.
 *
 * A parent with a key that came before is dropped. An export with state records each parent before it requests the
 * parent's listing. A resumed run uses the recorded parents, and continues the parents' own walk behind them.
 *
 * @example
 * listing({
 *   each: rowOf({
 *     source: 'repos',
 *     params: { repo: '{name}' },
 *   }),
 *   path: '/repos/{repo}/issues',
 *   fields: { repo: '{repo}' },
 *   paging: byLink(),
 *   rows: '',
 *   responses: { 404: 'skip' }, // a repository that was removed meanwhile
 *   columns: ['repo', 'number', 'title'],
 *   version: '1',
 * });
 * // With a parameter of the call:
 * rowOf({ source: 'repos', params: ({ name }: { name: string }, { state }: { state?: string }) => ({ repo: name, state }) })
 *
 * @throws ConfigError if an option is invalid. Later: DecodeError if a parent lacks a field.
 */
export function rowOf<const Fields extends ParentFields, In extends object = never, Given extends object = object>(
  options: Omit<RowOfOptions<never, never, In, Given>, 'params'> & { readonly params: Fields },
): Each<[In] extends [never] ? Given : In, { readonly [Name in keyof Fields]: string | number }>;
export function rowOf<
  Params extends object,
  Parent extends object = Record<string, unknown>,
  In extends object = never,
  Given extends object = object,
>(options: RowOfOptions<Parent, Params, In, Given>): Each<[In] extends [never] ? Given : In, Params>;
export function rowOf<Params extends object, In extends object, Given extends object>(
  options: Omit<RowOfOptions<never, Params, In, Given>, 'params'> & {
    readonly params: ParentFields | ((parent: never, given: Given) => Params);
  },
): Each<[In] extends [never] ? Given : In, Params> {
  checkOptions('rowOf()', options, {
    source: 'text',
    params: 'an object or a function',
    given: 'an object or a function?',
    parentParams: 'a function?',
  });
  const { source, params, given: schema, parentParams } = options;
  if (schema && !isStandard(schema))
    throw new ConfigError(`rowOf() is invalid at given: ${notStandard}.`, { option: 'given' });
  // A method accepts any parent: the compiler does not know the other source's rows.
  const made: { of(parent: object, given: Given): object } = {
    of: typeof params === 'function' ? params : fieldReader(params, source),
  };
  const known = schema && describeParams(schema);
  return Object.freeze({
    source,
    known,
    fields: typeof params === 'function' ? undefined : params,
    begin(name: string, called: object): GivenParams {
      const given = decodeParams<Given>(name, { schema, known }, called);
      return {
        given,
        parents: parentParams?.(given) ?? given,
        of: (parent) => made.of(parent, given),
      };
    },
  });
}

/** @throws ConfigError if a parameter is not the name of a field in braces. */
function fieldReader(fields: ParentFields, source: string): (parent: object) => object {
  const names = Object.entries(fields).map(([param, text]) => {
    const [field] = listValueNames(text);
    if (field !== undefined) return [param, field] as const;
    throw new ConfigError(
      `rowOf() is invalid at params.${param}: it must be the name of a field of ${source} in braces, e.g. '{id}', or params a function.`,
      { option: 'params' },
    );
  });
  return (parent) =>
    Object.fromEntries(
      names.map(([param, field]) => [param, readField(parent, field, { source, use: `the parameter ${param}` })]),
    );
}

interface WithEach extends Omit<RequestSpec<never, never>, 'partitions'> {
  readonly each?: Each<never, never> | undefined;
  readonly partitions?: unknown;
  readonly params?: StandardSchema | undefined;
  readonly version?: string | undefined;
}

/** @throws ConfigError if a listing with parents has an option that `each` excludes, or lacks a version. */
export function checkEach(definition: WithEach, fault: (option: string, what: string) => ConfigError): void {
  const { version, params, offset, rowsIdentity, each, query, body, headers, partitions, fields } = definition;
  // Templates need no version, since they are part of the plan.
  const parts = Object.entries({ query, body, headers, partitions, fields });
  const [made] = parts.find(([, part]) => typeof part === 'function') ?? (each?.fields ? [] : ['params of rowOf()']);
  if (made !== undefined && !version)
    throw fault(
      'version',
      `each needs one, e.g. '1', since ${made} is a function. Change it when the function changes: otherwise an export could resume with other parents`,
    );
  if (params) throw fault('params', 'each excludes it: give the schema to rowOf, as given');
  for (const [option, value] of Object.entries({ offset, rowsIdentity }))
    if (value) throw fault(option, 'each excludes it: the listing of each parent is walked from its first row on');
}
