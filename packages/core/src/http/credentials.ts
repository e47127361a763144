import type { Stamped } from './stamp.js';

/** When credentials are prepared for an attempt. */
export interface PrepareMoment {
  /** Whether the attempt has its permit, so that nothing may wait for another one of the same limiter. */
  readonly hasPermit: boolean;
  /** Waits for work that takes permits and has deadlines of its own: the request's deadline stands still. */
  readonly untimed: <T>(work: Promise<T>) => Promise<T>;
}

/** Added to each attempt below links and retries, so that only the adapter sees it. */
export interface Credentials {
  /** Resolves when there are credentials. Default: there always are. */
  prepare?(moment: PrepareMoment): Promise<void>;
  /** Those to send now, after `prepare`; `undefined` if they have expired since, unless expired ones will do. */
  current(evenExpired: boolean): Stamped | undefined;
  /** Called when the API responded to these, and did not refuse them. @param isOutage maybe since it did not look at them */
  notRefused?(sent: Stamped, isOutage: boolean): void;
  /** Whether there are other ones than these, which the API refused. Default: there are none. */
  renew?(refused: Stamped): Promise<boolean>;
  /** Called when the API refused these, too, after it had refused others for the same request. */
  refusedAgain?(sent: Stamped): void;
}

/** The credentials of one API. */
export interface ApiCredentials extends Credentials {
  /** For messages: `API key`, or `credential of github`. */
  readonly name: string;
  /** Whether anything is added. */
  readonly isSent: boolean;
  /** An address that the server gave, without what these credentials add to addresses. */
  withoutSecret(address: string): string;
  /** A short salted hash in hex: it tells secrets apart and does not reveal them. */
  fingerprint(salt: string): Promise<string>;
}
