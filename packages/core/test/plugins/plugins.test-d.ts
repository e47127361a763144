// What the compiler says of plugins. `npm run typecheck` proves it: an error that is expected and does not come is one.
import { createClient, definePlugin, type Endpoint, type Hooks, type Plugin } from '../../src/index.js';

const client = createClient({ apiKey: 'a-key-of-ours' });

interface Prices {
  latest(): number;
}
const prices = definePlugin({ name: 'prices', setup: (): Prices => ({ latest: () => 1 }) });
const rates = definePlugin({
  name: 'rates',
  requires: ['prices'],
  setup({ endpoint, logger }, { prices: of }: { prices: Prices }) {
    const api: Endpoint = endpoint('https://rates.example.com');
    logger.info(api.baseUrl);
    return { double: () => 2 * of.latest() };
  },
});

// What is used is there, under its name.
const both = client.use(prices).use(rates);
const doubled: number = both.rates.double() + both.prices.latest();
// @ts-expect-error -- nothing of that name is in use
void both.values;
// @ts-expect-error -- a namespace can't be replaced
both.prices = { latest: () => 2 };

// G1 a name is taken once.
// @ts-expect-error -- by itself
client.use(prices).use(prices);
// @ts-expect-error -- by another plugin
both.use(definePlugin({ name: 'prices', setup: () => ({}) }));
// @ts-expect-error -- by a plugin without types of its own
both.use({ name: 'rates' } satisfies Plugin<'rates'>);

// G1 the client's own names are reserved, and what the language gives a meaning to.
// @ts-expect-error -- the client's own
client.use(definePlugin({ name: 'use' }));
// @ts-expect-error -- the client's own
client.use(definePlugin({ name: 'close' }));
// @ts-expect-error -- the client's own
client.use(definePlugin({ name: 'events' }));
// @ts-expect-error -- the client's own
client.use(definePlugin({ name: 'limiter' }));
// @ts-expect-error -- the client's own
client.use(definePlugin({ name: 'sinks' }));
// @ts-expect-error -- the client's own
client.use(definePlugin({ name: 'stores' }));
// @ts-expect-error -- of any object or promise
client.use(definePlugin({ name: 'then' }));
// @ts-expect-error -- of any object or promise
client.use(definePlugin({ name: 'constructor' }));
// @ts-expect-error -- of any object or promise
client.use(definePlugin({ name: 'toString' }));

// G1 what a plugin requires has to be there before it.
// @ts-expect-error -- it is missing
client.use(rates);
// @ts-expect-error -- it comes later
client.use(rates).use(prices);
const otherPrices = definePlugin({ name: 'prices', setup: () => ({ latest: () => 'one' }) });
// @ts-expect-error -- another plugin has the name
client.use(otherPrices).use(rates);
const greedy = definePlugin({
  name: 'greedy',
  requires: ['limiter'],
  setup: (_context, { limiter }: { limiter: object }) => ({ limiter }),
});
// @ts-expect-error -- it is not a plugin, but the client's own
client.use(greedy);
// A supertype of the namespace will do.
client.use(prices).use(
  definePlugin({
    name: 'loose',
    requires: ['prices'],
    setup: (_context, { prices: of }: { prices: object }) => ({ of }),
  }),
);

// What a setup takes has to be named, or nobody would hand it over.
// @ts-expect-error -- not named
definePlugin({ name: 'hidden', setup: (_context, { prices: of }: { prices: Prices }) => of });
// @ts-expect-error -- only one of two is named
definePlugin({
  name: 'hidden',
  requires: ['prices'],
  setup: (_context, needs: { prices: Prices; rates: object }) => needs,
});

// A namespace is there at once, and is an object.
// @ts-expect-error -- a promise of one
definePlugin({ name: 'late', setup: async () => Promise.resolve({}) });
// @ts-expect-error -- a promise of one
client.use({ name: 'late', setup: () => Promise.resolve({}) });
// @ts-expect-error -- a number
definePlugin({ name: 'few', setup: () => 5 });
// @ts-expect-error -- nothing
definePlugin({ name: 'none', setup: () => undefined });

// Hooks know their event, and can't alter it.
const hooks: Hooks = {
  response: ({ status, took, request }) => status + took + request,
  settled(event) {
    if (event.outcome === 'answered') return void event.status.toFixed();
    // @ts-expect-error -- only an answer has one
    void event.status;
  },
  // @ts-expect-error -- events can't be altered
  commit: (event) => (event.rows = 0),
  async error({ error, of }) {
    await Promise.resolve([error.message, of]);
  },
};
definePlugin({ name: 'watching', hooks });
// @ts-expect-error -- there is no such event
definePlugin({ name: 'watching', hooks: { finished: () => undefined } });

// The key is in no capability.
definePlugin({
  name: 'curious',
  setup(context) {
    // @ts-expect-error -- it stays below
    void context.apiKey;
    // @ts-expect-error -- requests go through an endpoint
    void context.axios;
    return {};
  },
});

// Loaded by name, nothing is known: checked when it is used.
const loaded: readonly Plugin[] = [prices, rates, greedy];
for (const plugin of loaded) client.use(plugin);

export { doubled };
