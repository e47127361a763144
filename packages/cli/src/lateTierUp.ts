import { setFlagsFromString } from 'node:v8';

/** Bytes of a function's code that ran before V8 optimizes it: so much are 100 to 200 answers. */
const budget = 1_000_000_000;
/** V8 waits for longer by itself from this version on, which is Node 22's. */
const patientVersion = 12;

/**
 * Delays the optimization of undici's parser, which is WebAssembly, to commands that fetch many pages. The V8 of Node 20 begins with the first
 * answer. That takes 97 ms of CPU and 30 MB, and a process does not end before it is through. An export of 1,000 pages is no faster by it.
 *
 * Call it before any WebAssembly is loaded.
 */
export function tierUpLate({ versions }: Pick<NodeJS.Process, 'versions'>): void {
  // A V8 that does not know the flag says so on stderr, so it is set only where it is needed.
  if (Number.parseInt(versions.v8) < patientVersion) setFlagsFromString(`--wasm-tiering-budget=${budget}`);
}
