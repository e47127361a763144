import { ConfigError, SinkError } from '@sluice/core';
import { isCount } from '@sluice/core/kit';
import type { TableName } from './database.js';

/** How many rows an export may remove: a share of those that the table has, or a number of rows from 1 on. */
export type MaxRemoved = `${number}%` | number;

/** As a watch, which does not trust a listing at once that has lost more than half of its rows. */
export const usualMaxRemoved: MaxRemoved = '50%';

/** @throws ConfigError unless it is `N%`, a share below 1, or a whole number of rows. */
export function checkMaxRemoved(given: unknown): void {
  const share = readShare(given);
  if (share === undefined ? isCount(given) : share >= 0 && share <= 1) return;
  throw new ConfigError(
    (option = 'maxRemoved') =>
      `${option} is ${String(given)}: it must be a share from 0% to 100%, as 50% or 0.5, or a whole number of rows.`,
    { option: 'maxRemoved' },
  );
}

/** Whether more rows would go than may. */
function exceedsMax(max: MaxRemoved, { removed, before }: Removal): boolean {
  const share = readShare(max);
  return share === undefined ? removed > Number(max) : removed / before > share;
}

/** Rows that go, and those that are there before. */
export interface Removal {
  readonly removed: number;
  readonly before: number;
}

/** @throws SinkError if more rows would go than may. Nothing is left to resume then: the next run lists all rows again. */
export function checkRemoval({ given: table }: TableName, max: MaxRemoved | undefined, removal: Removal): void {
  if (max === undefined || !exceedsMax(max, removal)) return;
  const { removed, before } = removal;
  throw new SinkError(
    (option = 'maxRemoved') =>
      `${removed} of ${before} rows would be removed from ${table}, and ${option} is ${max}. Nothing was changed.`,
    {
      details: { table, removed, before, option: 'maxRemoved', isLost: true },
      advice: [{ kind: 'allow', option: 'maxRemoved' }],
    },
  );
}

/** From 0 to 1; `undefined` for a number of rows. */
function readShare(given: unknown): number | undefined {
  if (typeof given === 'number') return given > 0 && given < 1 ? given : undefined;
  const [, percent] = typeof given === 'string' ? (/^(\d+(?:\.\d+)?)%$/.exec(given) ?? []) : [];
  return percent === undefined ? undefined : Number(percent) / 100;
}
