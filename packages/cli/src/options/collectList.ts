import { parsedBy } from './parsedBy.js';
import { parseList } from './parseList.js';

/** Lets commander collect the items of an option that may be given several times, each time with one or more. */
export function collectList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...parsedBy(parseList)(text)];
}
