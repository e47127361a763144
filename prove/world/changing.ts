import type { Schedule } from './schedule.js';
import type { Alteration, Apis } from './services.js';

/** When the listing stands still, in ms. */
export const lastChange = 30_000;

/** Lets the listing of streams change while it is watched. */
export function letChange(apis: Apis, changes: readonly Alteration[]): (schedule: Schedule) => void {
  return (schedule) => {
    for (const change of changes)
      schedule.after(change.at, `the listing changes: ${change.what}`, () => apis.alter(change), null);
    schedule.after(lastChange, 'the listing stands still', () => apis.stand(), null);
  };
}
