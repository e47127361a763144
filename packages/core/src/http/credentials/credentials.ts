import type { KeyRing } from './apiKey.js';

/** What is added to one attempt. */
export interface Stamped {
  readonly headers: Readonly<Record<string, string>>;
  /** A query parameter, encoded: `name=value`. */
  readonly query?: string;
}

/**
 * Called when an attempt has its permit; `undefined` if the credentials have expired while it waited. `isLast`: returns
 * the latest ones even so.
 */
export type Stamp = (isLast?: boolean) => Stamped | undefined;

/** Added to each attempt below links and retries, so that only the adapter sees it. */
export interface Credentials {
  /** Resolves when there are credentials. */
  prepare(): Promise<Stamp>;
  /** Whether there are other ones than these, which were refused with 401. */
  renew(refused: Stamped): Promise<boolean>;
}

/** The credentials of one API. */
export interface ApiCredentials extends Credentials {
  /** For messages: `API key`, or `credential of github`. */
  readonly name: string;
  /** Whether anything is added. */
  readonly isSent: boolean;
  /** The query parameter that carries the secret, if one does. */
  readonly param?: string | undefined;
  /** A short salted hash in hex: it tells secrets apart and does not reveal them. */
  fingerprint(salt: string): Promise<string>;
}

const nothing: Stamped = { headers: {} };

/** Adds the current secret of a ring. */
export function stampedWith(
  ring: KeyRing,
  stamp: (secret: string) => Stamped,
  { name, param }: Pick<ApiCredentials, 'name' | 'param'>,
): ApiCredentials {
  const secrets = new WeakMap<Stamped, string>();
  let last: { readonly secret: string; readonly give: Stamp } | undefined;
  return {
    name,
    isSent: ring.hasKey,
    param,
    async prepare() {
      const secret = await ring.get();
      if (last?.secret !== secret) {
        const stamped = secret === '' ? nothing : stamp(secret);
        secrets.set(stamped, secret);
        last = { secret, give: () => stamped };
      }
      return last.give;
    },
    renew: (refused) => ring.renew(secrets.get(refused) ?? ''),
    fingerprint: (salt) => ring.fingerprint(salt),
  };
}
