import {
  type ApiDescription,
  apisOf,
  type AuthDescription,
  type SourceDescription,
  sourcesOf,
} from '@sluice/core/define';
import type { Config } from '../config/config.js';
import type { Environment, Variables } from '../environment/environment.js';
import { apis as builtIn, findBaseUrl, isApiName } from '../input/baseUrl.js';
import { keyVariable, authVariables } from '../input/secretVariables.js';
import { formatDuration, formatNumber } from '../terminal/format.js';
import { labelledLines } from '../terminal/text.js';
import { unknownApi, unknownSource, sourceLines } from './findSource.js';
import { withPlugins } from './openClient.js';

/** An API as a configuration has it. */
export interface KnownApi extends Omit<ApiDescription, 'baseUrl'> {
  /** Absent for a built-in API whose base URL is not set. */
  readonly baseUrl?: string | undefined;
}

interface Known {
  readonly apis: readonly KnownApi[];
  readonly sources: readonly SourceDescription[];
}

/** Describes all APIs and sources without a request. @throws what the client raises if a plugin can't be added. */
export function knownApis(config: Pick<Config, 'plugins'>, environment: Environment): Promise<Known> {
  return withPlugins(config, environment, (client) =>
    Promise.resolve({
      apis: Array.from(apisOf(client).values(), (api) => completeApi(api.describe(), environment)),
      sources: Array.from(sourcesOf(client).values(), (source) => source.describe()),
    }),
  );
}

/** Replaces what only stands in: base URLs of built-in APIs; and names the variable of the shared key. */
function completeApi({ baseUrl, ...api }: ApiDescription, { variables }: Environment): KnownApi {
  return {
    ...api,
    auth: api.auth.map((each) => (each.kind === 'client-key' ? { ...each, variables: [keyVariable] } : each)),
    baseUrl: isApiName(api.name) ? findBaseUrl(api.name, {}, variables) : baseUrl,
  };
}

/** The values of all variables that have secrets, and the secrets of the environment. */
export function listSecrets(
  apis: readonly Pick<KnownApi, 'auth'>[],
  { variables, secrets }: Environment,
): readonly string[] {
  const values = apis.flatMap((api) => authVariables(api).map((name) => variables[name]?.trim() ?? ''));
  return [...secrets, ...values.filter((value) => value !== '')];
}

/** The variables of an API's credentials that are not set. */
export function unsetVariables(api: Pick<KnownApi, 'auth'>, variables: Variables): readonly string[] {
  return authVariables(api).filter((name) => (variables[name] ?? '').trim() === '');
}

interface Described {
  readonly api: KnownApi;
  readonly sources: readonly SourceDescription[];
}

/** One API with all its sources, or with one of them. @throws UsageError if there is none of this name. */
export function findDescribed(known: Known, name: string, config: Pick<Config, 'file'>): Described {
  const [apiName = '', ...rest] = name.split('.');
  const names = known.sources.map((source) => source.name);
  const api = known.apis.find((each) => each.name === apiName);
  if (!api) throw unknownApi(apiName, names, config);
  const ofApi = known.sources.filter((source) => source.name.startsWith(`${apiName}.`));
  const sources = rest.length === 0 ? ofApi : ofApi.filter((source) => source.name === name);
  if (sources.length === 0) throw unknownSource(name, names);
  return { api, sources };
}

/** Blocks of lines for people: the API, and each of the sources. */
export function explainApi({ api, sources }: Described, environment: Environment): string[][] {
  return [[api.name, ...apiLines(api, environment)], ...sources.map((source) => sourceLines(source, true))];
}

function apiLines(api: KnownApi, { variables }: Environment): string[] {
  const { name, baseUrl } = api;
  const unset = isApiName(name) ? `not set: ${builtIn[name].variable}` : 'not set';
  const missing = unsetVariables(api, variables);
  return labelledLines([
    ['address', baseUrl ?? unset],
    ['auth', authText(api.auth) + (missing.length > 0 ? ` (not set: ${missing.join(', ')})` : '')],
    ['limits', limitsText(api)],
  ]);
}

/** How an API recognizes its caller, for people. */
export function authText(auth: KnownApi['auth']): string {
  return auth.length === 0 ? 'none' : auth.map(credentialText).join('; ');
}

function credentialText({ kind, name = '', tokenUrl = '', login, variables }: AuthDescription): string {
  const given = variables.length > 0 ? `from ${variables.join(' and ')}` : 'given in code';
  const from = login === undefined ? given : `of a login at ${login}, for a secret ${given}`;
  switch (kind) {
    case 'client-key':
      return `the key ${from}, in the header ${name}`;
    case 'bearer':
      return `a bearer token ${from}`;
    case 'header':
      return `a secret ${from}, in the header ${name}`;
    case 'query':
      return `a secret ${from}, in the query parameter ${name}`;
    case 'path':
      return `a secret ${from}, in the path as ${name}`;
    case 'body':
      return `a secret ${from}, in the field ${name} of the body`;
    case 'sign':
      return `a signature with a secret ${from}`;
    case 'basic':
      return `a user name and a password ${from}`;
    case 'oauth2':
      return `OAuth tokens of ${tokenUrl}, for a secret ${from}`;
  }
}

const windows: ReadonlyMap<number, string> = new Map([
  [1000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
]);

function limitsText({ limits, quota }: Pick<KnownApi, 'limits' | 'quota'>): string {
  const texts = limits.map(({ requests, per, concurrency }) => {
    const window = windows.get(per);
    const rate = `${formatNumber(requests)} ${window === undefined ? `in ${formatDuration(per)}` : `per ${window}`}`;
    return concurrency === undefined ? rate : `${rate}, ${formatNumber(concurrency)} in parallel`;
  });
  if (quota) texts.push(`the quota that responses report, waiting ${formatDuration(quota.maxQuotaWait)} at most`);
  return texts.length === 0 ? 'those of --rate' : texts.join('; ');
}
