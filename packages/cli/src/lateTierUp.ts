import { setFlagsFromString } from 'node:v8';

/** What V8 counts of a function before it optimizes it, in bytes that ran: that much are 100 to 200 answers. */
const budget = 1_000_000_000;
/** From here on V8 waits for long enough by itself. */
const patientVersion = 12;

/**
 * Has V8 optimize the parser of answers, which undici has as WebAssembly, only in a command that asks for many pages. The V8 of Node 20 begins
 * with the first answer: 90 ms of CPU and 30 MB beside an export that is over before, and whose process waits for it. The parser works the same
 * until then, only slower.
 *
 * It has to be called before anything of WebAssembly is loaded.
 */
export function tierUpLate({ versions }: Pick<NodeJS.Process, 'versions'>): void {
  // A V8 that does not know the flag would say so on stderr.
  if (Number.parseInt(versions.v8) < patientVersion) setFlagsFromString(`--wasm-tiering-budget=${budget}`);
}
