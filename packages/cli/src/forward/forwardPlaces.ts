/** Where a forward keeps what it has to remember, unless told otherwise. */
export interface ForwardPlaces {
  /** The folder of its state. */
  readonly state: string;
  /** The file of records that the endpoint refused. */
  readonly deadLetters: string;
}

/**
 * Names beside nothing else, so they are made of the endpoint's host; or of the state's, where that is given, so that two forwards with
 * states of their own have dead letters of their own.
 *
 * @example forwardPlaces('https://hooks.example.com/changes', {})
 * // { state: 'hooks.example.com.sluice', deadLetters: 'hooks.example.com.dead.jsonl' }
 */
export function forwardPlaces(url: string, given: Partial<ForwardPlaces>): ForwardPlaces {
  const state = given.state ?? `${nameOf(url)}.sluice`;
  const { deadLetters = `${state.replace(/[/\\]+$/, '').replace(/\.sluice$/, '')}.dead.jsonl` } = given;
  return { state, deadLetters };
}

/** A host as part of a file's name, with its port, as there may be several on one machine. */
function nameOf(url: string): string {
  const host = URL.canParse(url) ? new URL(url).host : '';
  return host.replace(/[^\w.-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '') || 'webhook';
}
