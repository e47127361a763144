export interface AdapterOptions {
  /** Ms to connect in, TLS included. */
  readonly connectTimeout: number;
  /** Bytes of an answer's body after decompression. */
  readonly maxBodyBytes: number;
  /**
   * `whole` (the default): an answer is one only with all of its body. `beginning`: its status is what counts; of the body comes what
   * was there, up to `maxBodyBytes`, and of a success nothing.
   */
  readonly bodies?: 'whole' | 'beginning';
  /** Is asked before anything is connected to. Without one, everything may be. Only where the platform shows addresses. */
  readonly guard?: AddressGuard | undefined;
  /**
   * Whether the proxies that the environment names are used, where the adapter knows them. Default `true`; with a guard never, since
   * a proxy would look names up by itself.
   */
  readonly proxies?: boolean | undefined;
}

/** Decides which addresses may be connected to. */
export interface AddressGuard {
  /** Every address that a name leads to, none of them checked yet. */
  resolve(hostname: string): Promise<readonly ResolvedAddress[]>;
  /** @throws ForbiddenAddressError unless a connection to this address may be made on behalf of the URL's host. */
  check(address: string, host: GuardedHost): void;
}

/** What a URL says of where it leads to. */
export interface GuardedHost {
  /** As the URL has it; the brackets of an IPv6 address may be missing. */
  readonly hostname: string;
  /** Whether it is reached over https. */
  readonly isEncrypted: boolean;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

export interface AttemptRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  /** All of them, the key's too: nobody but the adapter gets to see this. Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** It is sent over a connection that has carried no other request, where the adapter keeps connections. */
  readonly isFresh?: boolean;
  /** An abort takes effect at once. */
  readonly signal?: AbortSignal;
}

/** What came back: any status, and a body that nobody has read. */
export interface AttemptAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AnswerBody;
}

/** Carries one attempt: any status is an answer, and redirects are not followed. Without an answer it rejects with an `AdapterFault`. */
export interface Adapter {
  readonly send: (request: AttemptRequest) => Promise<AttemptAnswer>;
  close(): Promise<void>;
}

/** The body of an answer, read in one way or the other. */
export interface AnswerBody {
  readonly text: string;
  /** A JSON text that says what the body says, or that is none where the body is none. It need not be the same text: see `jsonText`. */
  readonly json: string;
}

/** A body of which only the text is known. */
export function textBody(text: string): AnswerBody {
  return { text, json: text };
}

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
