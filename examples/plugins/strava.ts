// Strava: OAuth with a refresh token, which is replaced now and then. Pages have numbers; an empty one is the last.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { byPage, defineApi, listing, oauth2 } from '@sluice/core/define';
import { z } from 'zod';

/** @param tokenFile has the refresh token. It is replaced there, before the new one is used. */
export const strava = ({
  tokenFile = 'strava.token',
  baseUrl = 'https://www.strava.com/',
  clientId = process.env['STRAVA_CLIENT_ID'] ?? 'unknown',
} = {}) =>
  defineApi({
    name: 'strava',
    baseUrl,
    auth: oauth2({
      tokenUrl: new URL('/oauth/token', baseUrl).href,
      clientId,
      clientIn: 'body',
      clientSecret: { env: 'STRAVA_CLIENT_SECRET' },
      refreshToken: async () => (await readFile(tokenFile, 'utf8')).trim(),
      async save({ refreshToken }) {
        await writeFile(`${tokenFile}.new`, refreshToken, { mode: 0o600 });
        await rename(`${tokenFile}.new`, tokenFile);
      },
    }),
    rateLimit: { requests: 100, per: 900_000 },
    sources: {
      activities: listing({
        description: 'Your activities.',
        path: '/api/v3/athlete/activities',
        pageSize: { param: 'per_page', default: 100, max: 200 },
        paging: byPage({ param: 'page' }),
        rows: '',
        schema: z.object({ id: z.number(), name: z.string(), distance: z.number() }),
        version: '1',
        columns: ['id', 'name', 'distance'],
        key: 'id',
      }),
    },
  })();
