import { setFlagsFromString } from 'node:v8';

/** Bytes of a function's code that run before V8 optimizes it: 100 to 200 responses. */
const budget = 1_000_000_000;
/** From this version of V8 on (Node 22), the default budget is large enough. */
const lateByDefault = 12;

/**
 * Delays the optimization of undici's parser, which is WebAssembly, until a command has fetched many pages. The V8 of
 * Node 20 optimizes it at the first response, which takes 97 ms of CPU and 30 MB, delays the exit of the process, and
 * does not make even an export of 1,000 pages faster. Call this before any WebAssembly is loaded.
 */
export function tierUpLate({ versions }: Pick<NodeJS.Process, 'versions'>): void {
  // Set only where needed: a V8 that does not know the flag prints a warning.
  if (Number.parseInt(versions.v8) < lateByDefault) setFlagsFromString(`--wasm-tiering-budget=${budget}`);
}
