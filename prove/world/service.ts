/** A request as a service finds it. */
export interface Arrived {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Answered {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A service in a world. It is asked at the moment at which a request arrives. */
export type Service = (request: Arrived) => Answered;
