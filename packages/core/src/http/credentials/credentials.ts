import type { Clock } from '../../clock.js';
import type { Secrets } from './secrets.js';

/** What is added to one attempt. */
export interface Stamped {
  readonly headers: Readonly<Record<string, string>>;
  /** A query parameter, encoded: `name=value`. */
  readonly query?: string;
}

/** Added to each attempt below links and retries, so that only the adapter sees it. */
export interface Credentials {
  /** Resolves when there are credentials. */
  prepare(): Promise<void>;
  /** Those to send now, after `prepare`; `undefined` if they have expired since, unless expired ones will do. */
  current(evenExpired: boolean): Stamped | undefined;
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

/** What credentials use of their client. */
export interface CredentialTools {
  readonly secrets: Secrets;
  readonly clock: Clock;
  /** Ms in which a response may still quote a secret after it was replaced. */
  readonly echoedFor: number;
  /** Default: that of Web Crypto. */
  readonly sha256?: ((text: string) => Promise<string>) | undefined;
}
