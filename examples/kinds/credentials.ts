// How APIs recognize their callers.
import { createHmac } from 'node:crypto';
import {
  basic,
  bearer,
  bodyKey,
  header,
  listing,
  login,
  oauth2,
  onePage,
  pathKey,
  queryKey,
  sign,
} from '@sluice/core/define';
import { ids, type Kind } from './kind.js';

const sources = { rows: listing({ path: '/orders', paging: onePage(), rows: '', columns: ['id'] }) };
const exported = { sources, exports: ids(1) };
const answers = { '/orders': ids(1) };

export const credentials: readonly Kind[] = [
  {
    says: 'wants a bearer token',
    auth: bearer({ env: 'TOKEN' }),
    headers: { authorization: 'Bearer token-of-the-shop' },
    answers,
    ...exported,
  },
  {
    says: 'wants a user name and a password',
    auth: basic({ user: 'me', password: { env: 'SECRET' } }),
    headers: { authorization: `Basic ${btoa('me:secret-of-the-shop')}` },
    answers,
    ...exported,
  },
  {
    says: 'wants a key as the user name',
    auth: basic({ user: { env: 'KEY' } }),
    headers: { authorization: `Basic ${btoa('key-of-the-shop:')}` },
    answers,
    ...exported,
  },
  {
    says: 'wants a key in a header of its own',
    auth: header('x-api-key', { env: 'KEY' }),
    headers: { 'x-api-key': 'key-of-the-shop' },
    answers,
    ...exported,
  },
  {
    says: 'wants a key after a word',
    auth: header('authorization', { env: 'KEY' }, { prefix: 'Token ' }),
    headers: { authorization: 'Token key-of-the-shop' },
    answers,
    ...exported,
  },
  {
    says: 'wants a key in the query',
    auth: queryKey('api_key', { env: 'KEY' }),
    answers: { '/orders?api_key=key-of-the-shop': ids(1) },
    ...exported,
  },
  {
    says: 'wants a key in the path',
    auth: pathKey('/bot{token}', { env: 'KEY' }),
    answers: { '/botkey-of-the-shop/orders': ids(1) },
    ...exported,
  },
  {
    says: 'wants a key in the body',
    auth: bodyKey('key', { env: 'KEY' }),
    sources: {
      rows: listing({ method: 'POST', path: '/search', body: {}, paging: onePage(), rows: '', columns: ['id'] }),
    },
    answers: { 'POST /search {"key":"key-of-the-shop"}': ids(1) },
    exports: ids(1),
  },
  {
    says: 'wants several credentials',
    auth: [header('x-api-key', { env: 'KEY' }), header('x-app-key', { env: 'SECRET' })],
    headers: { 'x-api-key': 'key-of-the-shop', 'x-app-key': 'secret-of-the-shop' },
    answers,
    ...exported,
  },
  {
    says: 'wants a token that a login gives',
    auth: header(
      'x-session',
      login({ request: { path: '/session', auth: bodyKey('password', { env: 'SECRET' }) }, token: 'id' }),
    ),
    answers: { 'POST /session {"password":"secret-of-the-shop"}': { id: 'session-17' }, '/orders': ids(1) },
    ...exported,
  },
  {
    says: 'wants a token of OAuth 2',
    auth: (baseUrl) =>
      oauth2({ tokenUrl: `${baseUrl}/token`, clientId: 'sluice', clientSecret: { env: 'SECRET' }, clientIn: 'body' }),
    answers: {
      'POST /token grant_type=client_credentials&client_id=sluice&client_secret=secret-of-the-shop': {
        access_token: 'token-17',
        token_type: 'bearer',
        expires_in: 3600,
      },
      '/orders': ids(1),
    },
    ...exported,
  },
  {
    says: 'wants a token that takes more than one request',
    auth: bearer({ id: 'account-17', get: async () => await fetchToken() }), // called again when it is refused
    headers: { authorization: 'Bearer token-of-my-vault' },
    answers,
    ...exported,
  },
  {
    says: 'lets its users choose their credentials',
    auth: bearer({ env: 'TOKEN' }),
    given: { auth: header('x-api-key', { env: 'KEY' }) }, // shop({ auth })
    headers: { 'x-api-key': 'key-of-the-shop' },
    answers,
    ...exported,
  },
  {
    says: 'wants a signature of each request',
    auth: sign({ env: 'SECRET' }, ({ method, url }, secret) => {
      const { pathname, search } = new URL(url);
      const hex = createHmac('sha256', secret).update(`${method} ${pathname}${search}`).digest('hex');
      return { headers: { 'x-signature': hex } };
    }),
    headers: { 'x-signature': createHmac('sha256', 'secret-of-the-shop').update('GET /orders').digest('hex') },
    answers,
    ...exported,
  },
];

/** As a vault does it. */
const fetchToken = (): Promise<string> => Promise.resolve('token-of-my-vault');
