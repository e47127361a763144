import { ConfigError } from '../errors.js';
import { sha256 } from '../sha256.js';
import type { Json } from '../source/definition.js';
import { hashOf } from '../source/fingerprint.js';
import type { SourceInfo } from '../source/source.js';
import type { Sink } from './sink.js';

/** What decides an export's bytes, as hashes: small, and it tells nothing of what it stands for. */
export interface ExportPlan {
  /** Of all of it, in hex (SHA-256). Equal plans have equal hashes, in whatever order they name things. */
  readonly hash: string;
  /** Of each of its settings, by path, so that it can be told which one changed. */
  readonly settings: Readonly<Record<string, string>>;
}

/** @throws ConfigError if an operator on the source's pages has no version, since it can't be told then what it does. */
export async function exportPlan<T>(info: SourceInfo<T>, sink: Sink<T>): Promise<ExportPlan> {
  if (info.isUnversioned) {
    throw new ConfigError(
      "A checkpoint can't tell whether the operator given to perPage is still the same: name it with perPage(operator, { version }).",
    );
  }
  const plan: Json = {
    source: info.name,
    asked: info.identity,
    columns: info.schema?.columns ?? null,
    sink: sink.name,
    written: sink.identity,
  };
  const settings = Object.fromEntries(settingsOf(plan, '').map(([path, value]) => [path, hashOf(canonical(value))]));
  return { hash: await sha256(canonical(plan)), settings };
}

/**
 * The names of the settings in which two plans differ, each once.
 *
 * @example changedSettings(before.settings, now.settings) // ['coin', 'pageSize', 'paging']
 */
export function changedSettings(before: ExportPlan['settings'], now: ExportPlan['settings']): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const changed = paths.filter((path) => before[path] !== now[path]);
  return [...new Set(changed.map(nameOf))].sort();
}

/** Settings whose own names say nothing to people: they are ours, or a part of something that people know as a whole. */
const names: readonly (readonly [path: RegExp, name: string])[] = [
  [/^asked(?:\.of)*$/, 'what is asked for'],
  [/^asked(?:\.of)*\.path$/, 'path or a parameter in it'],
  [/^asked(?:\.of)*\.paging\./, 'paging'],
  [/^asked(?:\.of)*\.rowsAt$/, 'place of the rows'],
  [/^written(?:\.of)*$/, 'what the sink writes'],
];

function nameOf(path: string): string {
  const [, name] = names.find(([known]) => known.test(path)) ?? [];
  return name ?? path.slice(path.lastIndexOf('.') + 1);
}

function settingsOf(value: Json, path: string): [string, Json][] {
  if (typeof value !== 'object' || value === null || isList(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, field]) => settingsOf(field, path === '' ? name : `${path}.${name}`));
}

/** JSON with names in order. */
function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
