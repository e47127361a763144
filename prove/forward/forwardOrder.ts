/** The settings of a process, as JSON in its first argument. */
export interface ForwardOrder {
  readonly apiKey: string;
  readonly aptosUrl: string;
  readonly owners: readonly string[];
  readonly hook: string;
  readonly secret: string;
  readonly folder: string;
  /** Records per request; 1 sends each one separately. */
  readonly batch: number;
  /** Forwards the changes of a watch of the streams at this address instead, for so many polls. */
  readonly watch?: { readonly streamsUrl: string; readonly polls: number };
}

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const stateFolder = 'state';
export const deadLetters = 'dead.jsonl';
