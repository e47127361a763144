import { hintFor, isRecord } from '@sluice/core/kit';
import type { LimitSettings } from './defineConfig.js';
import { UsageError } from '../errors/errors.js';
import { refuseSecretName } from './refuseSecrets.js';

/** A configuration before its plugins are loaded and its defaults are parsed. */
export interface ConfigContent {
  readonly plugins: readonly unknown[];
  readonly defaults: Readonly<Record<string, unknown>>;
  readonly limits?: LimitSettings | false;
}

const settings = ['plugins', 'defaults', 'limits'] as const;

/** @param name the name of the file. @throws UsageError if the value is not a configuration. */
export function decodeConfig(value: unknown, name: string): ConfigContent {
  if (!isRecord(value))
    throw new UsageError(
      `${name} holds no configuration. It must be an object like { "plugins": [], "defaults": {} }.`,
    );
  for (const setting of Object.keys(value)) {
    if (settings.some((known) => known === setting)) continue;
    refuseSecretName(setting, name);
    throw new UsageError(`${name} has an unknown setting ${JSON.stringify(setting)}. ${hintFor(setting, settings)}`);
  }
  const { plugins = [], defaults = {}, limits } = value;
  if (!Array.isArray(plugins))
    throw new UsageError(`"plugins" in ${name} must be an array: write [ ] around what is there.`);
  if (!isRecord(defaults))
    throw new UsageError(`defaults of ${name} holds no options. It must be an object like { "rate": "25/s" }.`);
  return {
    plugins: plugins as readonly unknown[],
    defaults: { ...defaults },
    ...(limits !== undefined && { limits: decodeLimits(limits, name) }),
  };
}

function decodeLimits(limits: unknown, name: string): LimitSettings | false {
  if (limits === false) return false;
  const { place, name: shared, ...others } = isRecord(limits) ? limits : { others: limits };
  const isPlace = place === undefined || typeof place === 'function' || (typeof place === 'string' && place !== '');
  const isName = shared === undefined || (typeof shared === 'string' && shared !== '');
  if (!isPlace || !isName || Object.keys(others).length > 0)
    throw new UsageError(
      `limits in ${name} must be false, or an object like { "place": "limits", "name": "shop" }: a folder, and a name that shares one budget.`,
    );
  return limits as LimitSettings;
}

/** The default export of a module (ESM or CommonJS). @throws UsageError if it has none. */
export function decodeDefaultExport(module: unknown, name: string): unknown {
  if (typeof module === 'object' && module !== null && 'default' in module && module.default !== undefined)
    return module.default;
  throw new UsageError(`${name} has no default export. Write "export default { plugins: [], defaults: {} }".`);
}

/** Whether a value is a function, which is assumed to create a plugin. */
export function isPluginFactory(value: unknown): value is (options: unknown) => unknown {
  return typeof value === 'function';
}

/**
 * The export of a module that is a plugin or creates one: the default export, else the only exported function.
 *
 * @param place where the module is named, for errors.
 */
export function decodePluginModule(module: unknown, place: string): unknown {
  const exported = new Map<string, unknown>(Object.entries(module as object));
  const byDefault = exported.get('default');
  // For CommonJS, this is `module.exports`.
  if (byDefault !== undefined) return byDefault;
  const factories = [...exported].filter(([, value]) => isPluginFactory(value));
  const [factory, ...others] = factories;
  if (factory && others.length === 0) return factory[1];
  const names = factories.map(([name]) => name);
  throw new UsageError(
    names.length === 0
      ? `The module that ${place} names exports no plugin. It should export one, or a function that makes one.`
      : `The module that ${place} names exports several functions (${names.join(', ')}). Make the plugin's its default export.`,
  );
}
