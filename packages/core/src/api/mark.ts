import { ConfigError } from '../errors.js';
import type { Mark } from '../position.js';

/** The cursor of a mark, for kinds of paging that know no other. @throws ConfigError if it is an offset. */
export function cursorOf(at: Mark): string {
  if ('cursor' in at) return at.cursor;
  throw new ConfigError('This API goes on at a cursor, and not behind a number of rows. Begin without startAt.');
}

/** The offset of a mark, for kinds of paging that know no other. @throws ConfigError if it is a cursor. */
export function offsetOf(at: Mark): number {
  if ('offset' in at) return at.offset;
  throw new ConfigError(
    'This API goes on behind a number of rows, and not at a cursor. As startAt give a position that a walk has reached.',
  );
}
