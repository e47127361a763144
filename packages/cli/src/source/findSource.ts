import type { Client } from '@sluice/core';
import { type ApiSource, type SourceDescription, sourcesOf } from '@sluice/core/define';
import { hintFor, nearestName } from '@sluice/core/kit';
import type { Config } from '../config/config.js';
import { UsageError } from '../errors/errors.js';
import { apis } from '../input/baseUrl.js';
import { fieldText, formatNumber } from '../terminal/format.js';
import { labelledLines, visibleText } from '../terminal/text.js';

/** The API of a source. @throws UsageError if the name is invalid. @example parseApi('coins.markets') // 'coins' */
export function parseApi(name: string): string {
  const [, api] = /^([^.]+)\.[^.]+$/.exec(name) ?? [];
  if (api !== undefined) return api;
  throw new UsageError(
    `${JSON.stringify(name)} is not a source. Write API.SOURCE, like aptos.nfts; "sluice sources" lists them.`,
  );
}

/** @throws UsageError, which lists the available sources, if the client does not have this one. */
export function findSource(client: Client, name: string, config: Pick<Config, 'file'>): ApiSource {
  const sources = sourcesOf(client);
  const source = sources.get(name);
  if (source) return source;
  const [api = ''] = name.split('.');
  const names = [...sources.keys()];
  const isKnown = names.some((each) => each.startsWith(`${api}.`));
  throw isKnown ? unknownSource(name, names) : unknownApi(api, names, config);
}

/** @param names all sources. */
export function unknownSource(name: string, names: readonly string[]): UsageError {
  const [api = '', source = ''] = name.split('.');
  const ofApi = names.flatMap((each) => (each.startsWith(`${api}.`) ? [each.slice(api.length + 1)] : []));
  return new UsageError(`${api} has no source ${JSON.stringify(source)}. ${hintFor(source, ofApi, `${api}.`)}`);
}

/** @param names all sources. */
export function unknownApi(api: string, names: readonly string[], { file }: Pick<Config, 'file'>): UsageError {
  const others = [...new Set([...names.map((each) => each.split('.')[0] ?? ''), ...Object.keys(apis)])].toSorted();
  const known = `There is no API ${JSON.stringify(api)} with sources. ${hintFor(api, others)}`;
  if (nearestName(api, others) !== undefined) return new UsageError(known);
  const more = file ? `The plugins of ${file.name} provide no other.` : 'Plugins in sluice.config.js can provide more.';
  return new UsageError(`${known} ${more}`);
}

/**
 * A source for people: its name, then lines with its description, parameters and columns.
 *
 * @param isDetailed adds what the parameters mean, whose rows it lists, and how its pages are found.
 */
export function sourceLines(source: SourceDescription, isDetailed = false): string[] {
  const { name, description, params, columns, hasKey } = source;
  const taken = params?.map((param) => {
    const facts = [param.type, ...(param.isRequired ? ['required'] : [])].filter((fact) => fact !== undefined);
    const text = param.name + (facts.length > 0 ? ` (${facts.join(', ')})` : '');
    return isDetailed && param.description !== undefined ? `${text}: ${param.description}` : text;
  });
  const facts = labelledLines([
    ...paramLines(taken, isDetailed),
    ['each', isDetailed && source.each !== undefined ? `row of ${source.each}` : undefined],
    ['columns', columns.join(', ')],
    ['rows', isDetailed && source.isFiltered ? 'some of those that the API lists' : undefined],
    ['paging', isDetailed ? pagingText(source) : undefined],
    ['export', isDetailed && source.isIncremental ? 'also --incremental' : undefined],
    ['watch', hasKey ? undefined : 'needs --key'],
  ]);
  return [name, ...(description === undefined ? [] : [`  ${visibleText(description)}`]), ...facts];
}

function paramLines(taken: readonly string[] | undefined, isDetailed: boolean): [string, string | undefined][] {
  if (!isDetailed || taken === undefined || taken.length === 0)
    return [['params', taken === undefined ? undefined : taken.join(', ') || 'none']];
  return taken.map((text, at) => [at === 0 ? 'params' : '', text]);
}

function pagingText({ paging: by, pageSize }: SourceDescription): string {
  const paging = by === 'own' ? 'by code of this API' : by;
  if (!pageSize) return paging;
  const max = pageSize.max === undefined ? '' : ` (${formatNumber(pageSize.max)} at most)`;
  return `${paging}, ${formatNumber(pageSize.default)} rows per page${max}`;
}

/** A key function from the names of fields. The key of a row without one of them is empty, which fails the poll. */
export function createRowKey(fields: readonly string[], columns: readonly string[]): (row: unknown) => string {
  const unknown = fields.find((field) => !columns.includes(field));
  if (unknown !== undefined)
    throw new UsageError(`--key: there is no column ${JSON.stringify(unknown)}. ${hintFor(unknown, columns)}`);
  return (row) => {
    const values = new Map(typeof row === 'object' && row !== null ? Object.entries(row) : []);
    const texts = fields.map((field) => fieldText(values.get(field)));
    if (texts.includes('')) return '';
    return texts.length === 1 ? (texts[0] ?? '') : JSON.stringify(texts);
  };
}
