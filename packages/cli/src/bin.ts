#!/usr/bin/env node
import module from 'node:module';
import { isAbsolute, join } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/** Bytes of a function's code that run before V8 optimizes it: 100 to 200 responses. */
const budget = 1_000_000_000;
/** From this version of V8 on (Node 22), the default budget is large enough. */
const lateByDefault = 12;

// Before anything else is loaded, so that all of it is cached.
keepCompiled(process);
tierUpLate(process);
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

/**
 * Delays the optimization of undici's parser, which is WebAssembly, until a command has fetched many pages. The V8 of
 * Node 20 optimizes it at the first response, which takes 97 ms of CPU and 30 MB, delays the exit of the process, and
 * does not make even an export of 1,000 pages faster. Call this before any WebAssembly is loaded.
 */
function tierUpLate({ versions }: Pick<NodeJS.Process, 'versions'>): void {
  // Set only where needed: a V8 that does not know the flag prints a warning.
  if (Number.parseInt(versions.v8) < lateByDefault) setFlagsFromString(`--wasm-tiering-budget=${budget}`);
}
