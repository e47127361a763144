/** Creates ids and hashes. A simulation replaces them, like the clock, so that its runs can be repeated. */
export interface Identifiers {
  /** Creates a unique UUID. Default: a random one. */
  readonly newId?: (() => string) | undefined;
  /** The SHA-256 of a text in UTF-8, in hex. Default: Web Crypto, whose threads finish at no predictable moment. */
  readonly sha256?: ((text: string) => Promise<string>) | undefined;
}

export function newId(): string {
  return crypto.randomUUID();
}

export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Makes short hashes: long enough to tell secrets apart, too short to recover a secret. It keeps the last hash, because
 * a watch needs the same hash for each page, and Web Crypto's threads take a millisecond on a busy machine.
 */
export function shortHasher(hash: (text: string) => Promise<string>): (text: string) => Promise<string> {
  let last: { readonly text: string; readonly hash: Promise<string> } | undefined;
  return async (text) => {
    if (last?.text !== text) last = { text, hash: hash(text) };
    return (await last.hash).slice(0, 8);
  };
}
