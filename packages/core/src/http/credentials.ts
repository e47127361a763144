import type { KeyRing } from './apiKey.js';

/** What each attempt carries besides its request; only the adapter gets to see it. */
export interface Credentials {
  prepare(): Promise<Stamp>;
  /** Whether there are better ones than those, which were refused with 401. */
  renew(refused: Stamp): Promise<boolean>;
}

/** Makes the headers, in the moment in which they are sent. */
export type Stamp = () => Readonly<Record<string, string>>;

const header = 'X-API-Key';

export function keyHeader(keys: KeyRing): Credentials {
  return {
    async prepare() {
      const key = await keys.get();
      const headers: Readonly<Record<string, string>> = key === '' ? {} : { [header]: key };
      return () => headers;
    },
    renew: (refused) => keys.renew(refused()[header] ?? ''),
  };
}
