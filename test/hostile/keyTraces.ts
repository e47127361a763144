/** A key of characters that every encoding writes in another way. */
export const hostileKey = `K3y-of/the+hostile=proof%41"x\\'<&>`;

/**
 * Pieces of a secret that stand in a text, however they are written: as they are, percent-encoded, as numbers of a web page, or in base64.
 * Each of them is long enough not to be there by chance.
 */
export function keyTraces(secret: string, text: string): string[] {
  return needlesOf(secret).filter((needle) => text.includes(needle));
}

/** Whether the whole secret stands in a text, in one of the ways in which our hostile servers write it. */
export function holdsKey(secret: string, text: string): boolean {
  return wholes(secret).some((whole) => text.includes(whole));
}

/** A text without the secret, where it stands there as a whole. What is left of it then was never whole. */
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
  // The longest first: what is taken out must not leave its end.
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
    // Where its bytes begin in a group of three decides how it looks; the characters at its ends depend on what stands there.
    ...[0, 1, 2].flatMap((before) => pieces(btoa(`${'x'.repeat(before)}${secret}`).slice(4, -4), 12)),
  ];
  needles.set(secret, made);
  return made;
}

/** Every fourth piece: whoever shows four characters more than a piece has shows one of these. */
function pieces(text: string, length: number): string[] {
  return Array.from({ length: Math.max(1, Math.ceil((text.length - length + 1) / 4)) }, (_, at) =>
    text.slice(4 * at, 4 * at + length),
  );
}
