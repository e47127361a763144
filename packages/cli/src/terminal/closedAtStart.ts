import { readFileSync, readlinkSync } from 'node:fs';

/**
 * Whether a descriptor was closed when the process began, as by `>&-`. Node opens `/dev/null` in its place, for reading and writing, where
 * the `> /dev/null` of a shell is for writing only. A program that throws our output away by such a descriptor, as Node's `stdio: 'ignore'`
 * and Python's `DEVNULL` do, looks the same in all that the system says of it. Both are refused where the output is what a command is run for:
 * an export that is lost costs more than a refusal that says what to do. Only Linux tells; elsewhere the answer is `false`.
 */
export function isClosedAtStart(descriptor: number): boolean {
  try {
    if (readlinkSync(`/proc/self/fd/${descriptor}`) !== '/dev/null') return false;
    const [, flags] = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')) ?? [];
    return flags !== undefined && isReadWrite(Number.parseInt(flags, 8));
  } catch {
    return false;
  }
}

/** Of the flags of `open`, the lowest two bits are the mode. */
function isReadWrite(flags: number): boolean {
  return (flags & 3) === 2;
}
