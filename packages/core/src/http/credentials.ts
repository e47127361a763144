import type { KeyRing } from './apiKey.js';

/** What is added to one attempt. */
export interface Stamped {
  readonly headers: Readonly<Record<string, string>>;
  /** A query parameter, encoded: `name=value`. */
  readonly query?: string;
}

/** Called when an attempt is sent. */
export type Stamp = () => Stamped;

/** Added to each attempt below links and retries, so that only the adapter sees it. */
export interface Credentials {
  prepare(): Promise<Stamp>;
  /** Whether there are other ones than these, which were refused with 401. */
  renew(refused: Stamp): Promise<boolean>;
}

/** The credentials of one API. */
export interface ApiCredentials extends Credentials {
  /** Whether anything is added. */
  readonly isSent: boolean;
  /** The query parameter that carries the secret, if one does. */
  readonly param: string | undefined;
  /** A short salted hash in hex: it tells secrets apart and does not reveal them. */
  fingerprint(salt: string): Promise<string>;
}

/** Adds the current secret of a ring. */
export function stampedWith(ring: KeyRing, stamp: (secret: string) => Stamped, param?: string): ApiCredentials {
  const secrets = new WeakMap<Stamp, string>();
  return {
    isSent: ring.hasKey,
    param,
    async prepare() {
      const secret = await ring.get();
      const stamped = secret === '' ? { headers: {} } : stamp(secret);
      const prepared: Stamp = () => stamped;
      secrets.set(prepared, secret);
      return prepared;
    },
    renew: (refused) => ring.renew(secrets.get(refused) ?? ''),
    fingerprint: (salt) => ring.fingerprint(salt),
  };
}
