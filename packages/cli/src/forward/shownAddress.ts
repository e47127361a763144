/**
 * An endpoint's address as it may be shown: what stands behind its origin may be a token.
 *
 * @example shownAddress('https://hooks.example.com/T0/s3cret') // 'https://hooks.example.com/…'
 */
export function shownAddress(url: string): string {
  if (!URL.canParse(url)) return '…';
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? origin : `${origin}/…`;
}
