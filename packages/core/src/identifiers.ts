/** Creates ids and hashes. A simulation replaces them, like the clock, so that its runs can be repeated. */
export interface Identifiers {
  /** Creates a unique UUID. Default: a random one. */
  readonly newId?: () => string;
  /** The SHA-256 of a text in UTF-8, in hex. Default: Web Crypto, whose threads finish at no predictable moment. */
  readonly sha256?: (text: string) => Promise<string>;
}

export function newId(): string {
  return crypto.randomUUID();
}

export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
