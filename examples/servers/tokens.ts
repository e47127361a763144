// Tokens for the rest of a list, as many APIs give them: clients can't read them, and they stand for all filters.
import { z } from 'zod';

const rest = z.object({ from: z.number(), filters: z.record(z.string(), z.string()) });

/** What a token stands for: a list with these filters, from one of its rows on. */
export type Rest = z.infer<typeof rest>;

export function tokenFor(of: Rest): string {
  return Buffer.from(JSON.stringify(of)).toString('base64url');
}

/** @returns `undefined` for a token that was never given */
export function readToken(token: string): Rest | undefined {
  try {
    return rest.parse(JSON.parse(Buffer.from(token, 'base64url').toString()));
  } catch {
    return undefined;
  }
}
