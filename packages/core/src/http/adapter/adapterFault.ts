/**
 * Why an adapter got no whole answer, in words that every adapter shares. It carries a code and nothing of the request, so
 * that it can't carry the key.
 */
export class AdapterFault extends Error {
  /** `stale`: the server closed a connection that was to be used again, before a byte of the answer came. */
  readonly kind: 'network' | 'stale' | 'connect-timeout' | 'cut-body' | 'not-text' | 'too-large' | 'too-heavy';
  /** The platform's own word for it, e.g. `ECONNREFUSED`. */
  readonly platformCode: string | undefined;

  constructor(kind: AdapterFault['kind'], platformCode?: string) {
    super(kind);
    this.kind = kind;
    this.platformCode = platformCode;
  }
}
