import { UsageError } from '../faults/usageError.js';

/** Makes a plugin of options, or of nothing. */
export type PluginMaker = (options: unknown) => unknown;

/** Whether something is a function, which then is taken for one that makes a plugin. */
export function isMaker(value: unknown): value is PluginMaker {
  return typeof value === 'function';
}

/**
 * What a module offers as a plugin, or as a function that makes one: its default export, else the only function that it exports.
 *
 * @throws UsageError if it is not clear which export is meant; `place` is where it is named.
 */
export function decodePluginModule(module: unknown, place: string): unknown {
  const exported = new Map<string, unknown>(Object.entries(module as object));
  const byDefault = exported.get('default');
  // The exports of a module in CommonJS, which may have none by that name, are its default export.
  if (byDefault !== undefined) return byDefault;
  const [maker, ...others] = [...exported.values()].filter(isMaker);
  if (maker && others.length === 0) return maker;
  const names = [...exported].flatMap(([name, value]) => (isMaker(value) ? [name] : []));
  throw new UsageError(
    names.length === 0
      ? `The module that ${place} names exports no plugin. It should export one, or a function that makes one.`
      : `The module that ${place} names exports several functions (${names.join(', ')}). Make the plugin's its default export.`,
  );
}
