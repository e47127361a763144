import { UsageError } from '../faults/usageError.js';
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
      `${name} has ${JSON.stringify(setting)}, which is no setting. There are: ${settings.join(', ')}.`,
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
