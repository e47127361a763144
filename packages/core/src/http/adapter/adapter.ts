import type { AxiosAdapter } from 'axios';

/** What an adapter has to keep to. */
export interface AdapterOptions {
  /** Ms to connect in, TLS included. */
  readonly connectTimeout: number;
  /** Bytes of an answer's body after decompression. */
  readonly maxBodyBytes: number;
}

/**
 * Carries one attempt: any status is an answer, its body comes as text, redirects are not followed, and an abort of
 * `config.signal` takes effect at once. Without an answer it rejects with an `AdapterFault`.
 */
export interface Adapter {
  readonly send: AxiosAdapter;
  /** Closes what it keeps open. */
  close(): Promise<void>;
}
