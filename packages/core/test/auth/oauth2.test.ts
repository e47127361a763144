import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { type ClientOptions, createClient } from '../../src/index.js';
import { byCursor, defineApi, listing, byPage, oauth2 } from '../../src/define/index.js';
import { Secrets } from '../../src/kit.js';
import type { ApiOptions, OAuth2Options, SavedToken } from '../../src/define/index.js';
import { FakeClock } from '../fakeClock.js';
import { limiterByHand } from '../http/limiterByHand.js';
import { type Arrived, type RecordingServer, recordingServer, type Reply } from '../http/recordingServer.js';

const rows = listing({ path: '/rows', rows: 'items', columns: ['id'], paging: byPage({ param: 'page' }) });
const clientSecret = 'cs-71fe0b+/=&%';
const refreshToken = 'rt-first-90aa11';

/** A server that issues `token-1`, `token-2`, …, and an API that accepts the tokens that are told. */
interface Issuing {
  readonly tokens: RecordingServer;
  readonly api: RecordingServer;
  /** What the API accepts. Default: the latest token. */
  accepts: (token: string) => boolean;
  /** What the token server answers instead of a token. */
  reply: (request: Arrived) => Reply | Promise<Reply> | undefined;
  /** Seconds. */
  lifetime: unknown;
  rotates: boolean;
}

async function issuing(): Promise<Issuing> {
  let issued = 0;
  const tokens = await recordingServer(async (request) => {
    const other = await issuer.reply(request);
    if (other) return other;
    issued += 1;
    return {
      body: {
        access_token: `token-${String(issued)}`,
        token_type: 'Bearer',
        expires_in: issuer.lifetime,
        ...(issuer.rotates && { refresh_token: `rt-next-${String(issued)}-b7` }),
      },
    };
  });
  const api = await recordingServer(({ headers }) => {
    const token = headers.authorization?.replace('Bearer ', '') ?? '';
    return issuer.accepts(token) ? { body: { items: [] } } : { status: 401, body: { message: `${token} is refused` } };
  });
  const issuer: Issuing = {
    tokens,
    api,
    lifetime: 3_600,
    rotates: false,
    accepts: (token) => token === `token-${String(issued)}`,
    reply: () => undefined,
  };
  return issuer;
}

function open(
  { tokens, api }: Issuing,
  options: Partial<OAuth2Options> = {},
  more: Partial<ClientOptions> = {},
  apiOptions: Partial<ApiOptions> = {},
) {
  const auth = oauth2({ tokenUrl: `${tokens.url}/oauth/token`, clientId: 'sluice app', clientSecret, ...options });
  const client = createClient({ apiKey: 'key-of-the-client', rateLimit: false, retry: { retries: 0 }, ...more });
  onTestEnd(() => client.close());
  return client.use(defineApi({ name: 'shop', auth, sources: { rows } })({ baseUrl: api.url, ...apiOptions }));
}

const formOf = ({ body }: Arrived): Record<string, string> => Object.fromEntries(new URLSearchParams(body));
const sentTokens = ({ api }: Issuing): unknown[] => api.arrived.map(({ headers }) => headers.authorization?.slice(7));

describe('A1 oauth2 with client credentials', () => {
  test('takes a token URL below the base URL, and the id from the environment', async () => {
    const server = await recordingServer(({ url }) =>
      url === '/v2/oauth/token' ? { body: { access_token: 'token-1', token_type: 'Bearer' } } : { body: { items: [] } },
    );
    const auth = oauth2({ tokenUrl: '/oauth/token', clientId: { env: 'SHOP_ID' }, clientSecret, clientIn: 'body' });
    const shop = defineApi({ name: 'shop', auth, sources: { rows } })({ baseUrl: `${server.url}/v2` });
    const use = (variables: Readonly<Record<string, string>>) => {
      const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 }, variables });
      onTestEnd(() => client.close());
      return client.use(shop).shop.rows();
    };
    await use({ SHOP_ID: 'sluice app' }).toArray();
    expect(server.arrived.map(({ url }) => url)).toEqual(['/v2/oauth/token', '/v2/rows']);
    expect(formOf(server.arrived[0] as Arrived)).toMatchObject({
      client_id: 'sluice app',
      client_secret: clientSecret,
    });
    expect(server.arrived[1]?.headers.authorization).toBe('Bearer token-1');
    await expect(use({}).toArray()).rejects.toThrow('set the environment variable SHOP_ID');
    expect(server.arrived).toHaveLength(2);
    const outside = { tokenUrl: '/../token', clientId: 'sluice app', clientSecret };
    const api = defineApi({ name: 'shop', auth: oauth2(outside), sources: { rows } });
    expect(() => createClient({ apiKey: false }).use(api({ baseUrl: `${server.url}/v2` }))).toThrow(
      'below the base URL',
    );
  });

  test('asks for a token as RFC 6749 says, once, and sends it', async () => {
    const issuer = await issuing();
    const client = open(issuer, { scope: 'read list', params: { audience: 'https://api.example.com' } });
    await Promise.all([client.shop.get('/a'), client.shop.get('/b'), client.shop.get('/c')]);
    expect(issuer.tokens.arrived).toHaveLength(1);
    const [request] = issuer.tokens.arrived;
    expect(request).toMatchObject({ method: 'POST', url: '/oauth/token' });
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    const pair = Buffer.from(request?.headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString();
    expect(pair).toBe(`sluice+app:${encodeURIComponent(clientSecret)}`);
    expect(formOf(request!)).toEqual({
      grant_type: 'client_credentials',
      scope: 'read list',
      audience: 'https://api.example.com',
    });
    expect(sentTokens(issuer)).toEqual(['token-1', 'token-1', 'token-1']);
  });

  test('sends a token with characters that RFC 6750 does not list, as Salesforce issues them', async () => {
    const issuer = await issuing();
    const token = '00DB0000000TfcR!AQQAQFhoK8vTMg_rKA.esrJ2bCs|x';
    issuer.reply = () => ({ body: { access_token: token, token_type: 'Bearer' } });
    issuer.accepts = () => true;
    await open(issuer).shop.get('/a');
    expect(sentTokens(issuer)).toEqual([token]);
  });

  test.each(['header', 'body'] as const)(
    'hides the secret if the server quotes the %s that it got',
    async (clientIn) => {
      const issuer = await issuing();
      issuer.reply = ({ headers, body }) => ({ status: 400, body: { got: headers.authorization ?? body } });
      // As a form, and as base64 of a form, it differs from what encodeURIComponent makes of it.
      const secret = "aQ!b~c(d)*e'f gH1~j2k3";
      const error: unknown = await open(issuer, { clientSecret: secret, clientIn })
        .shop.get('/a')
        .catch((reason: unknown) => reason);
      expect(String(error)).toContain('[hidden]');
      const shown = String(error).replace(/Basic ([\w+/]+)/, (_, pair: string) =>
        atob(pair.slice(0, pair.length & ~3)),
      );
      for (const part of ['aQ', '~c', 'gH1', 'j2k3']) expect(decodeURIComponent(shown)).not.toContain(part);
    },
  );

  test('can put the client into the form', async () => {
    const issuer = await issuing();
    await open(issuer, { clientIn: 'body' }).shop.get('/a');
    const [request] = issuer.tokens.arrived;
    expect(request?.headers.authorization).toBeUndefined();
    expect(formOf(request!)).toEqual({
      grant_type: 'client_credentials',
      client_id: 'sluice app',
      client_secret: clientSecret,
    });
  });

  test('renews a token that expired while the request waited for its permit, even if none lives that long', async () => {
    const issuer = await issuing();
    issuer.lifetime = 100;
    const clock = new FakeClock();
    const { limiter, grantAfter } = limiterByHand(clock);
    const client = open(issuer, {}, { clock }, { limiter });
    for (const waits of [[0], [101_000, 0], [101_000, 101_000]]) {
      const request = client.shop.get('/a');
      for (const wait of waits) await grantAfter(wait);
      await request;
    }
    expect(sentTokens(issuer)).toEqual(['token-1', 'token-2', 'token-4']);
  });

  test('asks once for all requests that are refused together, and sends each again', async () => {
    const issuer = await issuing();
    const clock = new FakeClock();
    const client = open(issuer, {}, { clock });
    await client.shop.get('/a');
    await clock.advance(61_000);
    issuer.accepts = (token) => token !== 'token-1';
    await Promise.all(Array.from({ length: 5 }, () => client.shop.get('/b')));
    expect(issuer.tokens.arrived).toHaveLength(2);
    expect(sentTokens(issuer).filter((token) => token === 'token-2')).toHaveLength(5);
  });

  test.each([400, 404, 410])(
    'E7 R11 a %i of the token server refuses neither the cursor nor the page that needs a token',
    async (status) => {
      let issued = 0;
      const server = await recordingServer(({ url = '' }) => {
        if (!url.startsWith('/token')) return { body: { items: [{ id: url }], next: 'cursor-2' } };
        issued += 1;
        return issued === 1
          ? { body: { access_token: 'token-1', expires_in: 100 } }
          : { status, body: { error: 'no' } };
      });
      const clock = new FakeClock();
      const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 }, clock });
      onTestEnd(() => client.close());
      const auth = oauth2({ tokenUrl: '/token', clientId: 'sluice app', clientSecret });
      const paging = byCursor({ param: 'after', at: 'next' });
      const items = listing({ path: '/items', rows: 'items', columns: ['id'], paging });
      const { shop } = client.use(defineApi({ name: 'shop', baseUrl: server.url, auth, sources: { items } })());
      const pages = shop.items().pages({ prefetch: 0 })[Symbol.asyncIterator]();
      await pages.next();
      await clock.advance(200_000);
      const error: unknown = await pages.next().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 'http', status });
      expect(String(error)).toMatch(/^HttpError: The token server of shop: the server responded with/);
      expect(String(error)).not.toMatch(/\/items|cursor/);
    },
  );

  test.each([undefined, 3_600])(
    'R1 asks for another token whenever the last one ended, if its life is said to be %s s',
    async (lifetime) => {
      const issuer = await issuing();
      issuer.lifetime = lifetime;
      const clock = new FakeClock();
      const client = open(issuer, {}, { clock });
      await client.shop.get('/a');
      for (let nth = 1; nth <= 6; nth += 1) {
        issuer.accepts = (token) => token === `token-${nth + 1}`;
        await clock.advance(2_000);
        await client.shop.get('/a');
      }
      expect(issuer.tokens.arrived).toHaveLength(7);
    },
  );

  test('R1 asks for no other token if the API has accepted none', async () => {
    const issuer = await issuing();
    issuer.accepts = () => false;
    const clock = new FakeClock();
    const client = open(issuer, {}, { clock });
    await clock.advance(1_000);
    for (let nth = 0; nth < 3; nth += 1)
      await expect(client.shop.get('/a')).rejects.toMatchObject({
        status: 401,
        message: expect.stringContaining('Check the token of shop'),
      });
    expect(issuer.tokens.arrived).toHaveLength(1);
  });

  test.each([500, 503, 507, 529])('tries again when the token server answers with %i', async (status) => {
    const issuer = await issuing();
    const client = open(issuer, {}, { retry: { baseDelay: 1, retries: 3 } });
    issuer.reply = () => (issuer.tokens.arrived.length < 3 ? { status, body: {} } : undefined);
    await client.shop.get('/a');
    expect(issuer.tokens.arrived).toHaveLength(3);
  });

  test.each(['0.001', '0', '2ms'])('T9 is not requested in a loop by a Retry-After of %s', async (soon) => {
    const issuer = await issuing();
    const clock = new FakeClock();
    const client = open(issuer, {}, { retry: { retries: 3 }, clock, random: () => 0.5 });
    issuer.reply = () => ({ status: 503, headers: { 'retry-after': soon }, body: {} });
    const failed = expect(client.shop.get('/a')).rejects.toMatchObject({ code: 'http' });
    for (const backOff of [125, 250, 500]) {
      await clock.asked(backOff);
      await clock.advance(backOff);
    }
    await failed;
    expect(issuer.tokens.arrived).toHaveLength(4);
  });

  test.each([
    [
      { status: 401, body: { error: 'invalid_client' } },
      /The token server of shop: .*401.*Check clientId and clientSecret/,
    ],
    [{ status: 400, body: { error: 'invalid_scope' } }, /Check scope/],
    [{ status: 404, body: {} }, /Check tokenUrl/],
    [{ status: 302, headers: { location: 'https://elsewhere.example' }, body: {} }, /Check tokenUrl/],
    [{ body: 'text' }, /without an access_token/],
    [{ body: { access_token: '' } }, /without an access_token/],
    [{ body: { access_token: 'a\r\nb' } }, /cannot be sent in a header/],
    [{ body: { access_token: 'abc', token_type: 'mac' } }, /not a bearer token/],
    [{ body: { access_token: 'abc', expires_in: -1 } }, /expires_in/],
    [{ body: { access_token: 'abc', expires_in: 'soon' } }, /expires_in/],
  ])('says what is wrong with the answer %j', async (reply, message) => {
    const issuer = await issuing();
    issuer.reply = () => reply;
    await expect(open(issuer).shop.get('/a')).rejects.toThrow(message);
    expect(issuer.api.arrived).toEqual([]);
  });

  test.each<[string, Reply, number]>([
    ['a life as text', { body: { access_token: 'tok-abcdefgh', token_type: 'Bearer', expires_in: '3599' } }, 3_599],
    ['a life with decimals', { body: { access_token: 'tok-abcdefgh', expires_in: '3599.5' } }, 3_599],
    ['a life of 0, which is no end', { body: { access_token: 'tok-abcdefgh', expires_in: 0 } }, Infinity],
    ['no life', { body: { access_token: 'tok-abcdefgh', expires_in: null } }, Infinity],
    ['the type BearerToken', { body: { access_token: 'tok-abcdefgh', token_type: 'BearerToken' } }, Infinity],
    ['the type bot', { status: 201, body: { ok: true, access_token: 'tok-abcdefgh', token_type: 'bot' } }, Infinity],
    [
      'a form',
      {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        text: 'access_token=tok-abcdefgh&scope=a%2Cb&token_type=bearer&expires_in=60',
      },
      60,
    ],
    [
      'a form that is called text',
      { headers: { 'content-type': 'text/plain' }, text: 'access_token=tok-abcdefgh' },
      Infinity,
    ],
  ])('R8 accepts tokens with %s', async (_, reply, seconds) => {
    const issuer = await issuing();
    issuer.reply = () => reply;
    issuer.accepts = (token) => token === 'tok-abcdefgh';
    const clock = new FakeClock();
    const client = open(issuer, {}, { clock });
    await client.shop.get('/a');
    await clock.advance(Math.min(seconds, 1e6) * 800);
    await client.shop.get('/a');
    expect(issuer.tokens.arrived).toHaveLength(1);
    if (seconds === Infinity) return;
    await clock.advance(seconds * 200);
    await client.shop.get('/a');
    expect(issuer.tokens.arrived).toHaveLength(2);
  });

  test('R8 says what is wrong with a form, too', async () => {
    const issuer = await issuing();
    issuer.reply = () => ({ status: 401, headers: { 'content-type': 'text/plain' }, text: 'error=invalid_client' });
    await expect(open(issuer).shop.get('/a')).rejects.toThrow('Check clientId and clientSecret');
    issuer.reply = () => ({ body: { code: 0, data: { access_token: 'tok-abcdefgh' } } });
    await expect(open(issuer).shop.get('/a')).rejects.toThrow('use login()');
  });

  test('refuses a token URL that is not encrypted', async () => {
    const issuer = await issuing();
    expect(() => open(issuer, { tokenUrl: 'http://auth.example.com/token' })).toThrow(
      /The token URL of shop is not encrypted/,
    );
  });
});

describe('A1 oauth2 with a refresh token', () => {
  test('uses a new refresh token, and any token, only after it is saved', async () => {
    const issuer = await issuing();
    issuer.rotates = true;
    issuer.lifetime = 100;
    const clock = new FakeClock();
    const saved: (SavedToken & { readonly requests: number })[] = [];
    const save = async (token: SavedToken): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve));
      saved.push({ ...token, requests: issuer.api.arrived.length });
    };
    const client = open(issuer, { refreshToken, save }, { clock });
    await client.shop.get('/a');
    await clock.advance(101_000);
    await client.shop.get('/b');
    expect(issuer.tokens.arrived.map((request) => formOf(request))).toEqual([
      { grant_type: 'refresh_token', refresh_token: refreshToken },
      { grant_type: 'refresh_token', refresh_token: 'rt-next-1-b7' },
    ]);
    expect(saved).toMatchObject([
      { refreshToken: 'rt-next-1-b7', accessToken: 'token-1', requests: 0 },
      { refreshToken: 'rt-next-2-b7', accessToken: 'token-2', requests: 1 },
    ]);
  });

  test('fails if the new one cannot be saved, without its words, and goes on with the new one', async () => {
    const issuer = await issuing();
    issuer.rotates = true;
    let fails = true;
    const save = (token: SavedToken): void => {
      if (fails) throw new Error(`disk full: ${token.refreshToken}`);
    };
    const client = open(issuer, { refreshToken, save });
    const error: unknown = await client.shop.get('/a').catch((reason: unknown) => reason);
    expect(String(error)).toContain('The function `save` of shop failed');
    expect(String(error)).not.toContain('rt-next');
    expect(issuer.api.arrived).toEqual([]);
    fails = false;
    await client.shop.get('/a');
    expect(formOf(issuer.tokens.arrived[1]!)).toMatchObject({ refresh_token: 'rt-next-1-b7' });
  });

  test('saves the one that could not be saved before it goes on, also if the server issues no other', async () => {
    const issuer = await issuing();
    issuer.rotates = true;
    const saved: (string | number)[][] = [];
    let failures = 2;
    const save = (token: SavedToken): void => {
      if (failures > 0) throw new Error(`no space left (${String((failures -= 1))})`);
      saved.push([token.refreshToken, issuer.tokens.arrived.length]);
    };
    const client = open(issuer, { refreshToken, save });
    await expect(client.shop.get('/a')).rejects.toThrow('The function `save` of shop failed');
    issuer.rotates = false;
    await expect(client.shop.get('/a')).rejects.toThrow('The function `save` of shop failed');
    expect(issuer.tokens.arrived).toHaveLength(1);
    await client.shop.get('/a');
    expect(saved).toEqual([['rt-next-1-b7', 1]]);
    expect(issuer.tokens.arrived.map((request) => formOf(request)['refresh_token'])).toEqual([
      refreshToken,
      'rt-next-1-b7',
    ]);
  });

  test('warns once if there is no function that saves', async () => {
    const issuer = await issuing();
    issuer.rotates = true;
    const client = open(issuer, { refreshToken });
    const warnings: string[] = [];
    client.events.subscribe((event) => event.type === 'warning' && warnings.push(event.message));
    await client.shop.get('/a');
    expect(warnings).toEqual([expect.stringContaining('Give oauth2 a function `save`')]);
  });

  test('says that one has to sign in again when it is not accepted any more', async () => {
    const issuer = await issuing();
    issuer.reply = () => ({ status: 400, body: { error: 'invalid_grant', error_description: refreshToken } });
    const error: unknown = await open(issuer, { refreshToken })
      .shop.get('/a')
      .catch((reason: unknown) => reason);
    expect(String(error)).toContain('does not accept the refresh token any more (invalid_grant). Sign in again.');
    expect(String(error)).not.toContain(refreshToken);
  });
});

test('A1 requests for tokens, and tokens, are seen by no link and no event', async () => {
  const issuer = await issuing();
  issuer.rotates = true;
  const seen: unknown[] = [];
  const client = open(
    issuer,
    { refreshToken },
    { links: [(next) => (request) => (seen.push(request), next(request))] },
  );
  client.events.subscribe((event) => seen.push(event));
  await client.shop.get('/a');
  issuer.accepts = () => false;
  const error: unknown = await client.shop.get('/b').catch((reason: unknown) => reason);
  const search = new Secrets();
  for (const secret of [clientSecret, refreshToken, 'token-1', 'rt-next-1-b7']) search.add(secret);
  const text = JSON.stringify([seen, String(error), error]);
  expect(search.has(text), text).toBe(false);
  expect(text).not.toContain('/oauth/token');
});

test('A1 a checkpoint tells clients of a token server apart, not tokens', async () => {
  const fingerprint = async (options: Partial<OAuth2Options>): Promise<string> => {
    const client = open(issuer, options);
    let found = '';
    client.use({
      name: 'look',
      setup: ({ endpoint }) => {
        const auth = oauth2({ tokenUrl: `${issuer.tokens.url}/oauth/token`, clientId: 'a', clientSecret, ...options });
        void endpoint('https://api.example.com', { auth })
          .keyFingerprint('salt')
          .then((text) => (found = text));
        return {};
      },
    });
    await new Promise((resolve) => setImmediate(resolve));
    while (found === '') await new Promise((resolve) => setImmediate(resolve));
    return found;
  };
  const issuer = await issuing();
  const plain = await fingerprint({});
  expect(plain).toMatch(/^[\da-f]{8}$/);
  expect(await fingerprint({ clientSecret: 'another-secret', refreshToken })).toBe(plain);
  expect(await fingerprint({ clientId: 'b' })).not.toBe(plain);
  expect(await fingerprint({ scope: 'all' })).not.toBe(plain);
});

/** The message of an error that has this text in it. */
async function messageWith(client: ReturnType<typeof open>, text: string): Promise<string> {
  let message = '';
  const watching = client.events.subscribe((event) => event.type === 'error' && (message = event.error.message));
  await client.shop.get(`/a b${text}`).catch(() => undefined);
  watching.unsubscribe();
  return message;
}

test('A1 a token leaves the redactor an hour after it was replaced', async () => {
  const issuer = await issuing();
  issuer.lifetime = 100;
  const clock = new FakeClock();
  const client = open(issuer, {}, { clock });
  const shown = (text: string): Promise<string> => messageWith(client, text);
  await client.shop.get('/a');
  await clock.advance(101_000);
  await client.shop.get('/a');
  expect(await shown('token-1')).toContain('[hidden]');
  await clock.advance(3_500_000);
  await client.shop.get('/a');
  expect(await shown('token-1')).toContain('[hidden]');
  await clock.advance(200_000);
  await client.shop.get('/a');
  expect(await shown('token-1')).toContain('token-1');
  expect(await shown('token-4')).toContain('[hidden]');
});

test(
  'A1 of tokens that live for seconds, those that a response may quote and the newest ones stay in the redactor',
  { tags: ['slow'] },
  async () => {
    const issuer = await issuing();
    issuer.lifetime = 10;
    const clock = new FakeClock();
    const client = open(issuer, {}, { clock, timeouts: { total: 5_000 } });
    for (let nth = 1; nth <= 111; nth += 1) {
      await client.shop.get('/a');
      await clock.advance(10_000);
    }
    expect(await messageWith(client, 'token-9')).toContain('token-9');
    for (const nth of [12, 50, 111]) expect(await messageWith(client, `token-${nth}`)).toContain('[hidden]');
  },
);
