import type { Timeouts } from '@sluice/core';

const longestConnect = 10_000;
/** A request may take as many times its answer's deadline, retries and back-offs included … */
const totalPerResponse = 6;
/** … but never less than this, or a short deadline would leave no time for back-offs. */
const leastTotal = 60_000;

/** … and always this much more than a fault is tried. */
const beyondRetries = 120_000;

/**
 * The deadlines in ms that go with one for an answer.
 *
 * @param retryFor ms for which a fault is tried, where that was said.
 * @example timeoutsFor(30_000) // { connect: 10_000, response: 30_000, total: 180_000 }, the library's own
 */
export function timeoutsFor(response: number, retryFor = -beyondRetries): Timeouts {
  return {
    connect: Math.min(longestConnect, response),
    response,
    total: Math.max(leastTotal, totalPerResponse * response, retryFor + beyondRetries),
  };
}
