import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { createClient, SluiceError } from '@sluice/core';
import { header, noAuth, queryKey } from '@sluice/core/define';
import type { Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { refuseClosed } from '../environment/output.js';
import { exitCodes, UsageError } from '../errors/errors.js';
import { isApiName } from '../input/baseUrl.js';
import { readHeaders } from '../input/readHeaders.js';
import { readInput } from '../input/readInput.js';
import { standardOutput } from '../options/rowFormats.js';
import { publishFile } from '../target/publishFile.js';
import { formatCount } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';
import { definitionText } from './new/definitionText.js';
import type { ApiDraft } from './new/draft.js';
import { draftAuth, type Sent, splitSecrets } from './new/draftAuth.js';
import { draftFromExample } from './new/fromExample.js';
import { draftFromOpenApi, isOpenApi } from './new/fromOpenApi.js';

/**
 * `sluice new NAME --from URL|FILE`: drafts the definition of an API from one response of a listing, or from its OpenAPI
 * description, and writes it to NAME.ts. What it guessed has a comment. Credentials are named, never written.
 */
export const draftDefinition: Run<'new'> = async (options, environment) => {
  const { name, from, to = `${name}.ts`, ifExists = 'fail', paths } = options;
  const { folder, stdout, stderr, command } = environment;
  if (!/^[a-z]\w{0,63}$/i.test(name))
    throw new UsageError(
      `${JSON.stringify(name)} can't be the name of an API. Give a letter, then letters and digits.`,
    );
  if (isApiName(name))
    throw new UsageError(`${name} is the name of an API that sluice itself brings along. Give another one.`);
  if (from === undefined)
    throw new UsageError('There is nothing to draft from. Give --from URL, or --from openapi.json.');
  if (to === standardOutput) refuseClosed(stdout);
  const headers = options.headerFile === undefined ? {} : await readHeaders(options.headerFile, environment);
  const { draft, shown } = await makeDraft(name, from, headers, environment);
  const chosen = paths ? { ...draft, listings: chooseListings(draft, paths) } : draft;
  const text = definitionText(name, chosen, shown);
  const guesses = text.split('\n').filter((line) => line.includes('// guess: ')).length;
  if (to === standardOutput) {
    await stdout.write(text);
    return exitCodes.done;
  }
  const path = resolve(folder, to);
  await publishFile(path, text, ifExists);
  const sources = chosen.listings.map((listing) => `${name}.${listing.name}`);
  const config = await findOrWriteConfig(`./${relative(folder, path)}`, environment);
  const found = `${listNames(sources)}, with ${formatCount(guesses, 'guess', 'guesses')} to check`;
  stderr.print(`${visibleText(`Wrote ${to}: ${found}. ${config}`)}\n`);
  const install = hasPackage(folder) ? '' : 'npm install @sluice/core, then ';
  stderr.print(
    `Next: ${install}${command} doctor, then ${command} export ${sources[0] ?? name} --max-rows 10 --to -\n`,
  );
  return exitCodes.done;
};

/** Whether a definition in a folder finds the library that it imports. */
function hasPackage(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules', '@sluice', 'core'))) return true;
  return dirname(folder) !== folder && hasPackage(dirname(folder));
}

interface Made {
  readonly draft: ApiDraft;
  /** What it was made from, without credentials. */
  readonly shown: string;
}

async function makeDraft(
  name: string,
  from: string,
  headers: Readonly<Record<string, string>>,
  environment: Environment,
): Promise<Made> {
  const nameVariable = (secret: string): string =>
    `${name.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase()}_${secret}`;
  if (!/^https?:/i.test(from)) {
    const document = await readDocument(from, environment);
    if (!isOpenApi(document))
      throw new UsageError(
        'The file of --from is not an OpenAPI description. For an example, give the address of a listing.',
      );
    return { draft: draftFromOpenApi(document, undefined, nameVariable), shown: basename(from) };
  }
  if (!URL.canParse(from)) throw new UsageError('The address of --from is not a URL.');
  const sent = splitSecrets(new URL(from), headers, environment.secrets);
  const { status: _, ...response } = await request(sent, environment);
  const shown = sent.url.href;
  if (isOpenApi(response.body)) return { draft: draftFromOpenApi(response.body, sent.url, nameVariable), shown };
  const draft = draftFromExample({ url: sent.url, ...response });
  return { draft: { ...draft, auth: draftAuth(sent, nameVariable), headers: sent.headers }, shown };
}

/** Sends one request, with the deadlines, retries and proxies of all others. */
async function request({ url, headers, secrets }: Sent, { variables, signal }: Environment) {
  const [first, ...more] = secrets.map(({ place, name, prefix, secret }) =>
    place === 'query' ? queryKey(name, secret) : header(name, secret, { prefix }),
  );
  await using client = createClient({ apiKey: false, variables, retry: { retries: 1 } }).use({
    name: 'draft',
    setup: ({ endpoint }) => ({ api: endpoint(url.origin, { auth: first ? [first, ...more] : noAuth, headers }) }),
  });
  const query = Object.fromEntries(
    [...new Set(url.searchParams.keys())].map((name) => [name, url.searchParams.getAll(name)]),
  );
  try {
    return await client.draft.api.send({ route: 'new', path: url.pathname, query, arrays: 'repeat', signal });
  } catch (error) {
    if (secrets.length > 0 || !SluiceError.is(error, 'http') || ![401, 403].includes(error.status)) throw error;
    throw new UsageError(
      `The API refuses requests without a credential (HTTP ${error.status}). Write its header into a file, e.g. Authorization: Bearer TOKEN, and give --header-file FILE.`,
    );
  }
}

async function readDocument(file: string, environment: Environment): Promise<unknown> {
  const text = await readInput(file, 'The file of --from', environment);
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError('The file of --from is not JSON. If it is YAML, convert it first.');
  }
}

/** @throws UsageError if a path has no listing. */
function chooseListings({ listings }: ApiDraft, paths: readonly string[]): ApiDraft['listings'] {
  return paths.flatMap((path) => {
    const found = listings.filter((listing) => listing.path === path);
    if (found.length > 0) return found;
    throw new UsageError(
      `The description has no listing at ${JSON.stringify(path)}. It has ${listNames(listings.map((each) => each.path))}.`,
    );
  });
}

const mostNames = 12;

function listNames(names: readonly string[]): string {
  const left = names.length - mostNames;
  return names.slice(0, mostNames).join(', ') + (left > 0 ? ` and ${left} more` : '');
}

/** Writes a configuration with the definition if the folder has none. @returns what the user has to know of it */
async function findOrWriteConfig(module: string, { folder }: Environment): Promise<string> {
  const existing = (await readdir(folder)).find((name) => /^sluice\.config\.\w+$/.test(name));
  if (existing !== undefined) return `Add ${JSON.stringify(module)} to the plugins of ${existing}.`;
  await publishFile(
    resolve(folder, 'sluice.config.json'),
    `${JSON.stringify({ plugins: [module] }, undefined, 2)}\n`,
    'fail',
  );
  return 'sluice.config.json uses it.';
}
