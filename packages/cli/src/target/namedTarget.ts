import { createHash } from 'node:crypto';
import { hintFor, nearestName } from '@sluice/core/kit';
import type { Config } from '../config/config.js';
import { UsageError } from '../errors/errors.js';
import { fileEndings, rowFormatNames } from '../options/rowFormats.js';
import { postgresUrl } from '../input/postgresUrl.js';

/** `NAME:TARGET`, the target of a plugin's sink or store. */
export interface NamedTarget {
  /** Of the sink or the store. */
  readonly name: string;
  readonly target: string;
  /** `NAME:TARGET` without passwords, for messages. */
  readonly shown: string;
}

/** What plugins provide by name. */
type Kind = 'sinks' | 'stores';

/** The names that core allows; any other text before a colon is part of a path. */
const form = /^([A-Za-z][\w-]{1,63}):(.*)$/s;
const password = /^([A-Za-z][\w+.-]*:\/\/[^\s/:@]*):([^\s/@]*)(?=@)/;
/** These begin a URL and are not names of sinks or stores. */
const scheme = /^(https?|file)$/i;
const minHidden = 4;
const longestName = 80;

const words = {
  sinks: { option: '--to', one: 'sink', otherwise: 'file' },
  stores: { option: '--state', one: 'store', otherwise: 'folder' },
} as const;

/**
 * The sink or store of a plugin that a text names; `undefined` for a path, such as `C:\rows.csv` and `./a:b.csv`, and for
 * a database.
 *
 * @throws UsageError if it is an address, or names a sink or store without a target, or one that no plugin provides.
 */
export function findNamed(
  text: string,
  kind: Kind,
  { plugins, file }: Pick<Config, 'plugins' | 'file'>,
): NamedTarget | undefined {
  const found = matchNamed(text, kind, { plugins });
  if (found) return found;
  const { option, one, otherwise } = words[kind];
  const names = listNames(kind, plugins);
  // It would become a file of that name.
  if (kind === 'sinks' && names.includes(text))
    throw new UsageError(
      `${option} ${text} names the ${one} ${JSON.stringify(text)} and no target: write ${text}:TARGET. If it is a ${otherwise}, write ./${text}.`,
    );
  const { name, target = '' } = parseTarget(text) ?? {};
  // The time of day in the name of a file has a colon, too.
  if (name === undefined || postgresUrl.test(text) || (/\d$/.test(name) && /^\d\d/.test(target))) return undefined;
  if (scheme.test(name))
    throw new UsageError(
      `${option} does not take an address. ${/^file$/i.test(name) ? `Give the path of the ${otherwise} alone.` : 'To post to one, give --forward URL.'}`,
    );
  const none = file
    ? `The plugins of ${file.name} provide none.`
    : 'Plugins provide them, and no configuration is in use.';
  const known = (kind === 'sinks' && guessTarget(name, names)) || (names.length > 0 ? hintFor(name, names) : none);
  throw new UsageError(
    `There is no ${one} ${JSON.stringify(name)} for ${option} ${text}. ${known} If it is a ${otherwise}, write ./ in front of it.`,
  );
}

/**
 * The same without a word about other texts.
 *
 * @example matchNamed('db:a.db', 'sinks', config) // { name: 'db', target: 'a.db', shown: 'db:a.db' }
 */
export function matchNamed(text: string, kind: Kind, { plugins }: Pick<Config, 'plugins'>): NamedTarget | undefined {
  const named = parseTarget(text);
  if (!named || !listNames(kind, plugins).includes(named.name)) return undefined;
  if (named.target !== '') return named;
  throw new UsageError(`${words[kind].option} ${named.name}: has no target. Write it after the colon.`);
}

/** Parses `NAME:TARGET`, whether or not a plugin provides NAME. */
export function parseTarget(text: string): NamedTarget | undefined {
  const [, name, target] = form.exec(text) ?? [];
  if (name === undefined || target === undefined) return undefined;
  return { name, target, shown: `${name}:${target.replace(password, '$1:…')}` };
}

/** Adds the password of a target that is a URL to the secrets. */
export function hidePassword({ target }: NamedTarget, secrets: Set<string>): void {
  const hidden = password.exec(target)?.[2] ?? '';
  // A shorter one would match parts of unrelated words.
  if (hidden.length >= minHidden) secrets.add(hidden);
}

/** What somebody meant who put the kind of a target before it. */
function guessTarget(name: string, sinks: readonly string[]): string | undefined {
  const formats: readonly string[] = rowFormatNames;
  const meant = nearestName(name, [...sinks, 'sqlite', 'postgres', 'postgresql', ...formats]) ?? '';
  if (meant === 'sqlite') return 'A table of SQLite is --to FILE.sqlite#TABLE.';
  if (/^postgres(ql)?$/.test(meant)) return 'A table of PostgreSQL is --to postgres://user@host/database?table=NAME.';
  return formats.includes(meant) ? `A file is its path alone, which ends in ${fileEndings}.` : undefined;
}

/**
 * The default state folder of a target. Its name is safe in any shell, and different for each target.
 *
 * @example stateFolder({ name: 'db', target: 'a.db', shown: 'db:a.db' }) // 'db.a.db.sluice'
 */
export function stateFolder({ name, shown }: NamedTarget): string {
  const target = shown.slice(name.length + 1);
  if (/^\w[\w.-]*$/.test(target) && target.length <= longestName) return `${name}.${target}.sluice`;
  // User name, password and query of a URL may be secret.
  const url = target.includes('://') && URL.canParse(target) ? new URL(target) : undefined;
  const words = (url ? url.host + url.pathname : target).replace(/[^\w.-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '');
  const hash = createHash('sha256').update(target).digest('hex').slice(0, 8);
  return [name, ...(words === '' ? [] : [words.slice(-longestName).replace(/^[-.]+/, '')]), hash, 'sluice'].join('.');
}

/** The names of the plugins' sinks or stores, without those that a command line would take for a URL. */
export function listNames(kind: Kind, plugins: Config['plugins']): string[] {
  const names = plugins.flatMap((plugin) => Object.keys(plugin[kind] ?? {}));
  return names.filter((name) => !scheme.test(name)).toSorted();
}
