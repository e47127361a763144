// As Mailchimp responds: audiences by offset, and below each its members.
import type { Answering } from './listingServer.js';

export interface MailchimpMember {
  readonly audience: string;
  readonly id: string;
  readonly email_address: string;
  readonly status: string;
}

/** @param removed audiences that are still listed, and answer 404 */
export function mailchimpAnswers(apiKey: string, removed: readonly string[] = []): Answering<MailchimpMember> {
  return ({ pathname, searchParams }, rows, { headers, limit }) => {
    const [, password = ''] = Buffer.from(headers.authorization?.slice('Basic '.length) ?? '', 'base64')
      .toString()
      .split(/:(.*)/);
    if (password !== apiKey) return { status: 401, body: { title: 'API Key Invalid' } };
    const offset = Number(searchParams.get('offset') ?? 0);
    const count = limit(searchParams.get('count') ?? 10);
    const page = <T>(all: readonly T[]) => ({ items: all.slice(offset, offset + count), total_items: all.length });
    const audience = /^\/3\.0\/lists\/([^/]+)\/members$/.exec(pathname)?.[1];
    if (audience === undefined) {
      const ids = [...new Set([...rows.map((row) => row.audience), ...removed])];
      const { items, total_items } = page(ids.map((id) => ({ id, name: `Audience ${id}` })));
      return { body: { lists: items, total_items } };
    }
    if (removed.includes(audience)) return { status: 404, body: { title: 'Resource Not Found' } };
    const { items, total_items } = page(rows.filter((row) => row.audience === audience));
    return {
      body: { members: items.map(({ id, email_address, status }) => ({ id, email_address, status })), total_items },
    };
  };
}
