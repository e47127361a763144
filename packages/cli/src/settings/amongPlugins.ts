import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';

/** Does work that the plugins of a configuration take part in: in an environment whose signal aborts when one of them fails. */
export function amongPlugins<R>(
  { file, plugins }: Pick<Config, 'file' | 'plugins'>,
  environment: Environment,
  work: (environment: Environment) => Promise<R>,
): Promise<R> {
  if (!file || plugins.length === 0) return work(environment);
  return environment.runningPlugins(file.name, environment.signal, (signal) => work({ ...environment, signal }));
}
