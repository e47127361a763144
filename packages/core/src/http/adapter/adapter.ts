import type { AxiosAdapter, AxiosResponse, InternalAxiosRequestConfig } from 'axios';

/** What an adapter has to keep to. */
export interface AdapterOptions {
  /** Ms to connect in, TLS included. */
  readonly connectTimeout: number;
  /** Bytes of an answer's body after decompression. */
  readonly maxBodyBytes: number;
}

/** What an attempt asks for, in axios' terms. */
export type AttemptConfig = InternalAxiosRequestConfig;

/** What came back: any status, and at first a body of text. */
export type AttemptAnswer = AxiosResponse<unknown>;

/**
 * Carries one attempt: any status is an answer, its body comes as text, redirects are not followed, and an abort of
 * `config.signal` takes effect at once. Without an answer it rejects with an `AdapterFault`.
 */
export interface Adapter {
  readonly send: AxiosAdapter;
  /** Closes what it keeps open. */
  close(): Promise<void>;
}
