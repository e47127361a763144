// As Strava responds: tokens for a refresh token, which is replaced each time, and numbered pages for a token.
import type { Answering } from './listingServer.js';

export interface StravaAccount {
  readonly clientSecret: string;
  /** The only one that is accepted. */
  refreshToken: string;
  /** The access tokens so far. */
  readonly issued: string[];
}

export function stravaAnswers(account: StravaAccount): Answering<object> {
  return (url, rows, { headers, body, limit }) => {
    if (url.pathname === '/oauth/token') {
      const form = new URLSearchParams(body);
      const isKnown = form.get('client_secret') === account.clientSecret;
      if (!isKnown || form.get('refresh_token') !== account.refreshToken)
        return { status: 400, body: { error: 'invalid_grant' } };
      account.issued.push(`access-token-${account.issued.length}`);
      account.refreshToken = `refresh-token-${account.issued.length}`;
      const [token] = account.issued.slice(-1);
      return {
        body: { token_type: 'Bearer', access_token: token, expires_in: 21_600, refresh_token: account.refreshToken },
      };
    }
    if (headers.authorization !== `Bearer ${account.issued.at(-1) ?? ''}`) return { status: 401, body: {} };
    const page = Number(url.searchParams.get('page') ?? 1);
    const size = limit(url.searchParams.get('per_page'));
    return { body: rows.slice((page - 1) * size, page * size) };
  };
}
