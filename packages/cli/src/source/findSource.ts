import { type ApiSource, type Client, type SourceDescription, sourcesOf } from '@sluice/core';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { type ApiName, apis, isApiName } from '../input/baseUrl.js';
import { fieldText } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { withPlugins } from './openClient.js';

interface SourceName {
  /** E.g. `coins.markets`. */
  readonly name: string;
  /** Absent if the API is not built in. */
  readonly api?: ApiName;
}

/** Parses the name of a source. @throws UsageError if it is invalid. */
export function sourceName(name: string): SourceName {
  const [api = ''] = name.split('.');
  if (!/^[^.]+\.[^.]+$/.test(name))
    throw new UsageError(
      `${JSON.stringify(name)} is not a source. Write API.SOURCE, like aptos.walletNfts; "sluice sources" lists them.`,
    );
  return { name, ...(isApiName(api) && { api }) };
}

/** @throws UsageError, which lists the available sources, if the client does not have this one. */
export function findSource(client: Client, name: string, { file }: Pick<Config, 'file'>): ApiSource {
  const sources = sourcesOf(client);
  const source = sources.get(name);
  if (source) return source;
  const [api = ''] = name.split('.');
  const names = [...sources.keys()];
  const ofApi = names.filter((each) => each.startsWith(`${api}.`));
  const others = [...new Set([...names.map((each) => each.split('.')[0] ?? ''), ...Object.keys(apis)])].toSorted();
  throw new UsageError(
    ofApi.length > 0
      ? `${api} has no source ${JSON.stringify(name.slice(api.length + 1))}. Available: ${ofApi.join(', ')}.`
      : `There is no API ${JSON.stringify(api)} with sources. Available: ${others.join(', ')}. ${file ? `The plugins of ${file.name} provide no other.` : 'Plugins in sluice.config.js can provide more.'}`,
  );
}

/** Describes all sources without any request. @throws what the client raises for a plugin that can't be added. */
export async function knownSources(
  config: Pick<Config, 'plugins'>,
  environment: Pick<Environment, 'stderr'>,
): Promise<SourceDescription[]> {
  return withPlugins(config, environment, (client) =>
    Promise.resolve(Array.from(sourcesOf(client).values(), (source) => source.describe())),
  );
}

/** A source for people: its name, then lines with its description, parameters and columns. */
export function sourceLines({ name, description, params, columns, hasKey }: SourceDescription): string[] {
  const taken = params?.map((param) => {
    const facts = [param.type, ...(param.isRequired ? ['required'] : [])].filter((fact) => fact !== undefined);
    return param.name + (facts.length > 0 ? ` (${facts.join(', ')})` : '');
  });
  const rows: [label: string, text: string | undefined][] = [
    ['params', taken === undefined ? undefined : taken.join(', ') || 'none'],
    ['columns', columns.join(', ')],
    ['watch', hasKey ? undefined : 'needs --key'],
  ];
  const lines = rows.flatMap(([label, text]) =>
    text === undefined ? [] : [`  ${label.padEnd(9)}${visibleText(text)}`],
  );
  return [name, ...(description === undefined ? [] : [`  ${visibleText(description)}`]), ...lines];
}

/**
 * A key function from the names of fields. The key of a row without one of them is empty, which fails the poll.
 *
 * @throws UsageError if a field is not a column.
 */
export function rowKeyOf(fields: readonly string[], columns: readonly string[]): (row: unknown) => string {
  const unknown = fields.find((field) => !columns.includes(field));
  if (unknown !== undefined)
    throw new UsageError(`--key: there is no column ${JSON.stringify(unknown)}. Available: ${columns.join(', ')}.`);
  return (row) => {
    const values = new Map(typeof row === 'object' && row !== null ? Object.entries(row) : []);
    const texts = fields.map((field) => fieldText(values.get(field)));
    if (texts.includes('')) return '';
    return texts.length === 1 ? (texts[0] ?? '') : JSON.stringify(texts);
  };
}
