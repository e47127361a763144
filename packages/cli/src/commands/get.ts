import { type Api, apisOf, sourcesOf } from '@sluice/core/define';
import type { Run } from '../config/config.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, UsageError } from '../errors/errors.js';
import type { CommandOptions } from '../options/commands.js';
import { unknownApi } from '../source/findSource.js';
import { openClient, withApi, withClient } from '../source/openClient.js';
import { readQuery } from '../source/params.js';

/**
 * `sluice get API PATH`: sends one request through the limiter, the credentials, the retries and the deadlines of an
 * API, and prints the JSON that it responds. What contains a secret of the client is hidden, and a number that a double
 * can't hold is a text.
 */
export const get: Run<'get'> = async (options, environment, { config }) => {
  const { api: name, path, param = [] } = options;
  const { stdout, stderr, signal } = environment;
  refuseClosed(stdout);
  checkArguments(options);
  const query = readQuery(param);
  const add = withApi(name, options, environment);
  return withClient(openClient(options, environment, config, add), environment, async (client, notices) => {
    const api = apisOf(client).get(name);
    if (!api) throw unknownApi(name, [...sourcesOf(client).keys()], config);
    notices.subscribe(({ level, message }) => {
      if (level === 'warning') stderr.print(`sluice: ${message}\n`);
    });
    const document = await api.get(path, { query, signal });
    await stdout.write(`${JSON.stringify(withoutSecrets(document, api), undefined, 2)}\n`);
    return exitCodes.done;
  });
};

/** @throws UsageError if an argument is of another form. */
function checkArguments({ api, path }: CommandOptions<'get'>): void {
  if (api.includes('.'))
    throw new UsageError(
      `${JSON.stringify(api)} is not an API. Give the name before the dot; "sluice export" exports a source.`,
    );
  if (!path.startsWith('/')) throw new UsageError('The path must begin with a slash, like /rate_limit.');
  if (/[?#]/.test(path))
    throw new UsageError('The path must not have a query. Give each of its parameters with --param NAME=VALUE.');
}

/** A document as it is shown, e.g. in a report of a problem: some APIs repeat the credentials that they were sent. */
function withoutSecrets(value: unknown, api: Pick<Api, 'redact'>): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, api));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [api.redact(name), withoutSecrets(field, api)]),
    );
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const shown = api.redact(String(value));
  return shown === String(value) ? value : shown;
}
