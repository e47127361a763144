#!/usr/bin/env node
import module from 'node:module';
import { isAbsolute, join } from 'node:path';

// Before anything else is loaded, so that all of it is cached.
keepCompiled(process);
const { runProcess } = await import('./program.js');
await runProcess(process);

/**
 * Enables Node's compile cache, so that the next start is faster. Does nothing before Node 22.1.
 * `NODE_COMPILE_CACHE` names another folder; `NODE_DISABLE_COMPILE_CACHE=1` disables it.
 */
function keepCompiled({ env, platform }: Pick<NodeJS.Process, 'env' | 'platform'>): void {
  const folder = cacheFolder(env, platform);
  if (folder === undefined) return;
  if ('enableCompileCache' in module && typeof module.enableCompileCache === 'function')
    Reflect.apply(module.enableCompileCache, module, [join(folder, 'sluice')]);
}

/**
 * A folder of the user's own. Node's default is in the shared temporary folder, where another user could plant code.
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
function cacheFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | undefined {
  const { XDG_CACHE_HOME: named = '', LOCALAPPDATA: local = '', HOME: home = '' } = env;
  if (platform === 'win32') return local || undefined;
  if (isAbsolute(named)) return named;
  if (!isAbsolute(home)) return undefined;
  return platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
}
