import { UsageError } from '../errors/errors.js';
import { refuseSecretName } from './refuseSecrets.js';

/** What a configuration holds, before its plugins are loaded and its defaults are parsed. */
export interface ConfigContent {
  readonly plugins: readonly unknown[];
  readonly defaults: Readonly<Record<string, unknown>>;
}

const settings = ['plugins', 'defaults'] as const;

/** Takes a configuration apart. @throws UsageError if it is none, with its place; `name` is the file's. */
export function decodeConfig(value: unknown, name: string): ConfigContent {
  if (!isRecord(value))
    throw new UsageError(
      `${name} holds no configuration. It must be an object like { "plugins": [], "defaults": {} }.`,
    );
  for (const setting of Object.keys(value)) {
    if (settings.some((known) => known === setting)) continue;
    refuseSecretName(setting, name);
    throw new UsageError(
      `${name} has an unknown setting ${JSON.stringify(setting)}. The settings are: ${settings.join(', ')}.`,
    );
  }
  const { plugins = [], defaults = {} } = value;
  if (!Array.isArray(plugins))
    throw new UsageError(`"plugins" in ${name} must be an array: write [ ] around what is there.`);
  if (!isRecord(defaults))
    throw new UsageError(`defaults of ${name} holds no options. It must be an object like { "rate": "25/s" }.`);
  return { plugins: plugins as readonly unknown[], defaults: { ...defaults } };
}

/** The default export of a module, of CommonJS too. @throws UsageError if it has none. */
export function decodeDefaultExport(module: unknown, name: string): unknown {
  if (typeof module === 'object' && module !== null && 'default' in module && module.default !== undefined)
    return module.default;
  throw new UsageError(`${name} has no default export. Write "export default { plugins: [], defaults: {} }".`);
}

/** Whether something is an object with fields, as JSON has them. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Makes a plugin of options, or of nothing. */
type PluginMaker = (options: unknown) => unknown;

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
