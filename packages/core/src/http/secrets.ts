const hidden = '[hidden]';

/**
 * The texts that must not leave the transport, and how to take them out of whatever else does.
 *
 * A secret is found raw, percent-encoded, as a JSON string and in base64 or base64url, alone or inside a longer encoded text.
 */
export class Secrets {
  readonly #secrets = new Set<string>();
  #pattern: RegExp | undefined;

  add(secret: string): void {
    if (secret === '' || this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    // The longest form goes first, so that no form is replaced inside a longer one and leaves its rest behind.
    const forms = [...this.#secrets].flatMap(writtenForms).sort((a, b) => b.length - a.length);
    this.#pattern = new RegExp([...new Set(forms)].map(escapeRegExp).join('|'), 'gi');
  }

  /** `text` without any secret. Redact before you cut: half a secret is not recognised. */
  redact(text: string): string {
    return this.#pattern ? text.replace(this.#pattern, hidden) : text;
  }

  /** Whether a secret stands somewhere in `text`. */
  has(text: string): boolean {
    return this.redact(text) !== text;
  }
}

/** Fewer characters than this appear in base64 by chance. */
const shortestEncoded = 6;

function writtenForms(secret: string): string[] {
  const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  const bytes = new TextEncoder().encode(secret);
  for (let shift = 0; shift < 3; shift += 1) {
    const encoded = stableBase64(bytes, shift);
    if (encoded.length < shortestEncoded) continue;
    forms.push(encoded, encoded.replaceAll('+', '-').replaceAll('/', '_'), encodeURIComponent(encoded));
  }
  return forms;
}

/** The part of the base64 text that does not depend on what stands around `bytes`, when they begin `shift` bytes into a group. */
function stableBase64(bytes: Uint8Array, shift: number): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(shift), ...bytes));
  const begin = Math.ceil((shift * 8) / 6);
  const end = Math.floor(((shift + bytes.length) * 8) / 6);
  return text.slice(begin, end);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
