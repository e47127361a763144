import { createHash } from 'node:crypto';
import type { Config } from '../config/config.js';
import { UsageError } from '../errors/errors.js';

/** A target that a plugin makes something of: `NAME:TARGET`. */
export interface NamedTarget {
  /** That of the sink or the store. */
  readonly name: string;
  /** What it is to be made of, whole. */
  readonly target: string;
  /** Both, as they may be shown: without a password. */
  readonly shown: string;
}

/** What plugins bring along by name. */
type Kind = 'sinks' | 'stores';

/** Names are as core has them: what else stands before a colon is part of a path. */
const form = /^([A-Za-z][\w-]{1,63}):(.*)$/s;
const password = /^([A-Za-z][\w+.-]*:\/\/[^\s/:@]*):([^\s/@]*)(?=@)/;
/** They begin an address, and name nothing of a plugin's. */
const scheme = /^(https?|file)$/i;
const minHidden = 4;
const longestName = 80;

const words = {
  sinks: { option: '--to', one: 'sink', otherwise: 'file' },
  stores: { option: '--state', one: 'store', otherwise: 'folder' },
} as const;

/**
 * The sink or the store that a text names, if a plugin has brought along one of that name. `C:\rows.csv` and `./a:b.csv` name none.
 *
 * @example namedTarget('sqlite:holdings.db', 'sinks', config) // { name: 'sqlite', target: 'holdings.db', shown: 'sqlite:holdings.db' }
 */
export function namedTarget(text: string, kind: Kind, { plugins }: Pick<Config, 'plugins'>): NamedTarget | undefined {
  const named = takenApart(text);
  return named && namesOf(kind, plugins).includes(named.name) ? named : undefined;
}

/** A text of the form `NAME:TARGET`, whether or not there is something of that name. */
export function takenApart(text: string): NamedTarget | undefined {
  const [, name, target] = form.exec(text) ?? [];
  if (name === undefined || target === undefined) return undefined;
  return { name, target, shown: `${name}:${target.replace(password, '$1:…')}` };
}

/** Keeps the password of an address, where a target is one, out of all that is written. */
export function hidePassword({ target }: NamedTarget, secrets: Set<string>): void {
  const hidden = password.exec(target)?.[2] ?? '';
  // A shorter one would be found in words that have nothing to do with it.
  if (hidden.length >= minHidden) secrets.add(hidden);
}

/** Refuses an address, such as `https://example.com/rows.csv`. @throws UsageError if it is one. */
export function refuseAddress(text: string, kind: Kind): void {
  const { name } = takenApart(text) ?? {};
  if (name === undefined || !scheme.test(name)) return;
  const { option, otherwise } = words[kind];
  const way = /^file$/i.test(name) ? `Give the path of the ${otherwise} alone.` : 'To post to one, give --forward URL.';
  throw new UsageError(`${option} does not take an address. ${way}`);
}

/** Refuses a name with nothing behind it. @throws UsageError if it is one. */
export function refuseEmptyTarget({ name, target }: NamedTarget, kind: Kind): void {
  const { option } = words[kind];
  if (target === '') throw new UsageError(`${option} ${name}: has no target. Write it after the colon.`);
}

/** Refuses the name of a sink, which would become a file of that name. @throws UsageError if it is one. */
export function refuseBareName(text: string, kind: Kind, { plugins }: Pick<Config, 'plugins'>): void {
  if (!namesOf(kind, plugins).includes(text)) return;
  const { option, one, otherwise } = words[kind];
  throw new UsageError(
    `${option} ${text} names the ${one} ${JSON.stringify(text)} and no target: write ${text}:TARGET. If it is a ${otherwise}, write ./${text}.`,
  );
}

/** Refuses a text that looks as if it named a sink or a store that nobody brought along. @throws UsageError with those that there are. */
export function refuseUnknownName(text: string, kind: Kind, { plugins, file }: Pick<Config, 'plugins' | 'file'>): void {
  const { name } = takenApart(text) ?? {};
  if (name === undefined) return;
  const { option, one, otherwise } = words[kind];
  const names = namesOf(kind, plugins);
  const none = file
    ? `The plugins of ${file.name} provide none.`
    : 'Plugins provide them, and no configuration is in use.';
  const known = names.length > 0 ? `Available: ${names.join(', ')}.` : none;
  throw new UsageError(
    `There is no ${one} ${JSON.stringify(name)} for ${option} ${text}. ${known} If it is a ${otherwise}, write ./ in front of it.`,
  );
}

/**
 * The folder that a target's state is kept in unless told otherwise: a name that is safe in any shell, and another one for each target.
 *
 * @example stateFolder({ name: 'sqlite', target: 'holdings.db', shown: 'sqlite:holdings.db' }) // 'sqlite.holdings.db.sluice'
 */
export function stateFolder({ name, shown }: NamedTarget): string {
  const target = shown.slice(name.length + 1);
  if (/^\w[\w.-]*$/.test(target) && target.length <= longestName) return `${name}.${target}.sluice`;
  // What stands behind a host, or in front of it, may be nobody else's business.
  const place = URL.canParse(target) && target.includes('://') ? hostAndPath(new URL(target)) : target;
  const words = place.replace(/[^\w.-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '');
  const hash = createHash('sha256').update(target).digest('hex').slice(0, 8);
  return [name, ...(words === '' ? [] : [words.slice(-longestName).replace(/^[-.]+/, '')]), hash, 'sluice'].join('.');
}

function hostAndPath({ host, pathname }: URL): string {
  return host + pathname;
}

/** The names that plugins have given their sinks, or their stores, as far as a command line can say them. */
export function namesOf(kind: Kind, plugins: Config['plugins']): string[] {
  const names = plugins.flatMap((plugin) => Object.keys(plugin[kind] ?? {}));
  return names.filter((name) => !scheme.test(name)).toSorted();
}
