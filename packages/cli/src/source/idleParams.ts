import type { ApiSource } from '@sluice/core';
import { UsageError } from '../faults/usageError.js';

/** Values that what is asked for may depend on. */
const others: readonly unknown[] = [undefined, '', 'x', 'true', 'false', '0', '1', true, false, 0, 1, []];

/**
 * Refuses a parameter that nothing depends on, where the source does not tell which ones it takes: most likely it is misspelt, and then
 * something else would be exported than what was meant.
 *
 * @throws UsageError if what the source asks for is the same without it, and with any other value.
 */
export function refuseIdleParams(source: ApiSource, params: Readonly<Record<string, unknown>>): void {
  const { name, params: known } = source.describe();
  if (known) return;
  const asked = askedFor(source, params);
  for (const [param, value] of Object.entries(params)) {
    const values = typeof value === 'string' ? [...others, `${value}x`] : others;
    if (values.some((other) => askedFor(source, { ...params, [param]: other }) !== asked)) continue;
    throw new UsageError(
      `${name} asks for the same with --param ${param} and without it: it has no such parameter. Leave it out, or look for its right name.`,
    );
  }
}

/** What decides which rows come; a value that is refused decides it, too. */
function askedFor(source: ApiSource, params: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return JSON.stringify(source(params).info.identity);
  } catch {
    return undefined;
  }
}
