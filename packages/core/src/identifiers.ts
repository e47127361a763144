/** What makes ids and hashes. A simulation replaces it, as it replaces the clock, so that each of its runs can be repeated. */
export interface Identifiers {
  /** Makes a UUID that nothing else has. Default: a random one. */
  readonly newId?: () => string;
  /** The SHA-256 of a text in UTF-8, in hex. Default: Web Crypto, which works in a thread of its own and so answers at no fixed moment. */
  readonly sha256?: (text: string) => Promise<string>;
}

export function newId(): string {
  return crypto.randomUUID();
}

export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
