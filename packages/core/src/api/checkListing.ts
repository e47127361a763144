import { checkCount } from '../count.js';
import { ConfigError } from '../errors.js';
import { isRecord } from '../record.js';
import type { RowMaking } from './decodeRows.js';
import type { Asking } from './listingPlan.js';
import type { StandardSchema } from './standardSchema.js';

/** What of a definition can be checked before anything is asked. */
interface Checked extends Asking<never>, RowMaking<object> {
  readonly params?: StandardSchema | undefined;
  readonly version?: string | undefined;
  readonly columns: readonly string[];
}

/** @throws ConfigError naming the first thing that makes no sense. */
export function checkListing(definition: Checked): void {
  const { path, query, parts, params, pageSize, paging, schema, decode, version, columns } = definition;
  if (typeof path === 'string' && !/^\/[^?#]*$/.test(path))
    throw fault('path', `${JSON.stringify(path)} must begin with a slash and hold no query`);
  if (pageSize) {
    checkCount('pageSize.default', pageSize.default, pageSize.most === undefined ? {} : { most: pageSize.most });
    if (pageSize.most !== undefined) checkCount('pageSize.most', pageSize.most);
  }
  const names = [
    ...(pageSize ? [pageSize.param] : []),
    ...paging.params,
    ...(typeof query === 'object' ? Object.keys(query) : []),
  ];
  const twice = repeated(names);
  if (names.includes('')) throw fault('query', 'a parameter has no name');
  if (twice !== undefined) throw fault('query', `the parameter ${JSON.stringify(twice)} is set twice`);
  const column = repeated(columns);
  if (columns.length === 0) throw fault('columns', 'there are none: a table would be empty');
  if (column !== undefined) throw fault('columns', `${JSON.stringify(column)} is there twice`);
  if (schema && decode) throw fault('schema', 'it excludes decode: give one of the two');
  if ((schema ?? decode) && !version)
    throw fault(
      'version',
      `give one, e.g. '1', and change it when ${schema ? 'the schema' : 'decode'} changes: else an export could go on with rows of another kind`,
    );
  for (const [option, standard] of Object.entries({ schema, params }))
    if (standard && !isStandard(standard))
      throw fault(
        option,
        'it is no Standard Schema. Zod has been one since 3.24, Valibot since 1.0, ArkType since 2.0',
      );
  if (params && ![path, query, parts].some((part) => typeof part === 'function'))
    throw fault('params', 'nothing is made of them: let path, query or parts be a function');
}

/** Whether it is what the compiler was told. */
function isStandard(schema: object): boolean {
  const standard: unknown = Reflect.get(schema, '~standard');
  return isRecord(standard) && typeof standard['validate'] === 'function';
}

function repeated(names: readonly string[]): string | undefined {
  return names.find((name, index) => names.indexOf(name) !== index);
}

function fault(option: string, what: string): ConfigError {
  return new ConfigError(`The definition of a listing makes no sense at ${option}: ${what}.`, { option });
}
