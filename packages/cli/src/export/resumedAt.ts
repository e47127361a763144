import type { Checkpoint } from '@sluice/core';
import type { Resumed } from '../terminal/resumedLine.js';

/** What an export that goes on from a checkpoint says of it. */
export function resumedAt({ rows, pages, parts, position, isSealed }: Checkpoint): Resumed {
  const { before, begun } = position;
  const first = begun[before];
  const others = Object.entries(begun).filter(([part, at]) => at !== 'done' && Number(part) !== before);
  return {
    ...{ rows, pages, parts, isSealed: isSealed ?? false },
    part: before + 1,
    page: first === undefined || first === 'done' ? 1 : first.pages + 1,
    otherParts: others.length,
  };
}
