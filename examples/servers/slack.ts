// As Slack responds: channels, and the messages of each, the newest ones first; errors come with status 200.
import type { Answer, Answering } from './listingServer.js';
import { readToken, tokenFor } from './tokens.js';

export interface SlackMessage {
  /** Seconds since 1970, with a fraction that makes it the message's id. */
  readonly ts: string;
  readonly user: string;
  readonly text: string;
}

export interface Slack {
  readonly token: string;
  readonly channels: readonly SlackChannel[];
  /** Requests that it takes before it refuses one. Default: many. */
  room?: number;
}

export interface SlackChannel {
  readonly id: string;
  readonly name: string;
  readonly is_member: boolean;
  readonly messages: SlackMessage[];
}

export function slackAnswers(team: Slack): Answering<unknown> {
  return ({ pathname, searchParams }, _, { headers }) => {
    if (headers.authorization !== `Bearer ${team.token}`) return refuse('invalid_auth');
    if (team.room !== undefined) team.room -= 1;
    if (team.room === -1) return { ...refuse('ratelimited'), status: 429, headers: { 'retry-after': '1' } };
    const limit = Number(searchParams.get('limit') ?? 100);
    const cursor = searchParams.get('cursor');
    const asked = Object.fromEntries([...searchParams].filter(([name]) => name !== 'cursor' && name !== 'limit'));
    const rest = cursor === null ? { from: 0, filters: asked } : readToken(cursor);
    if (JSON.stringify(rest?.filters) !== JSON.stringify(asked)) return refuse('invalid_cursor');
    const from = rest?.from ?? 0;
    if (pathname === '/api/conversations.list') {
      if (limit > 1000) return refuse('invalid_limit');
      // Each page may have fewer channels than were requested.
      const to = from + Math.max(1, limit - 1);
      const channels = team.channels.slice(from, to).map(({ messages: _m, ...channel }) => channel);
      return page({ channels }, to < team.channels.length ? tokenFor({ from: to, filters: asked }) : '');
    }
    if (pathname !== '/api/conversations.history') return refuse('unknown_method');
    const channel = team.channels.find(({ id }) => id === asked['channel']);
    if (!channel) return refuse('channel_not_found');
    if (!channel.is_member) return refuse('not_in_channel');
    const { oldest = '0', inclusive } = asked;
    const found = channel.messages
      .filter(({ ts }) => Number(ts) > Number(oldest) || (inclusive === 'true' && Number(ts) === Number(oldest)))
      .sort((a, b) => Number(b.ts) - Number(a.ts));
    const to = from + Math.min(limit, 999);
    const has_more = to < found.length;
    return page({ messages: found.slice(from, to), has_more }, has_more ? tokenFor({ from: to, filters: asked }) : '');
  };
}

function page(rows: object, next_cursor: string): Answer {
  return { body: { ok: true, ...rows, response_metadata: { next_cursor } } };
}

function refuse(error: string): Answer {
  return { body: { ok: false, error } };
}
