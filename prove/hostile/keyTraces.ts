/** A key whose characters differ in every encoding. */
export const hostileKey = `K3y-of/the+hostile=proof%41"x\\'<&>`;

/**
 * Fragments of a secret in a text, however they are written: verbatim, percent-encoded, as character references of
 * HTML, or in base64. Each is too long to be there by chance.
 */
export function keyTraces(secret: string, text: string): string[] {
  return needlesOf(secret).filter((needle) => text.includes(needle));
}

/** The same, but only fragments of half of the secret: errors may show less where a server sent no more (T2). */
export function keyHalves(secret: string, text: string): string[] {
  const encoded = encodeURIComponent(secret);
  const spellings = [secret, encoded, encodeURIComponent(encoded), entities(secret), ...base64Of(secret)];
  return spellings.flatMap((spelling) => pieces(spelling, spelling.length / 2)).filter((half) => text.includes(half));
}

/** Whether a text contains the complete secret, in one of the encodings of our hostile servers. */
export function holdsKey(secret: string, text: string): boolean {
  return wholes(secret).some((whole) => text.includes(whole));
}

/** A text without the complete secret. What is left of the secret was never complete. */
export function withoutKey(secret: string, text: string): string {
  return wholes(secret).reduce((rest, whole) => rest.replaceAll(whole, ''), text);
}

function wholes(secret: string): string[] {
  const encoded = encodeURIComponent(secret);
  const base64 = [0, 1, 2].map((before) => {
    const bits = [before * 8, (before + secret.length) * 8] as const;
    const text = btoa(`${'x'.repeat(before)}${secret}`);
    return text.slice(Math.ceil(bits[0] / 6), Math.floor(bits[1] / 6));
  });
  // The longest first, so that removing one does not leave the end of a longer one.
  return [
    encodeURIComponent(encoded),
    entities(secret),
    encoded,
    JSON.stringify(secret).slice(1, -1),
    secret,
    ...base64,
  ];
}

function entities(secret: string): string {
  return [...secret].map((character) => `&#${character.charCodeAt(0)};`).join('');
}

const needles = new Map<string, readonly string[]>();

function needlesOf(secret: string): readonly string[] {
  const known = needles.get(secret);
  if (known) return known;
  const encoded = encodeURIComponent(secret);
  const made = [
    ...pieces(secret, 8),
    ...pieces(encoded, 12),
    ...pieces(encodeURIComponent(encoded), 16),
    ...pieces(entities(secret), 24),
    ...base64Of(secret).flatMap((spelling) => pieces(spelling, 12)),
  ];
  needles.set(secret, made);
  return made;
}

/** Its offset in a group of three bytes decides its base64; the characters at its ends depend on their neighbours. */
function base64Of(secret: string): string[] {
  return [0, 1, 2].map((before) => btoa(`${'x'.repeat(before)}${secret}`).slice(4, -4));
}

/** Every fourth fragment: a text that shows four characters more than a fragment contains one of these. */
function pieces(text: string, length: number): string[] {
  return Array.from({ length: Math.max(1, Math.ceil((text.length - length + 1) / 4)) }, (_, at) =>
    text.slice(4 * at, 4 * at + length),
  );
}
