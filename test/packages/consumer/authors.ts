// An API, a sink, a state store, a limiter and a plugin, as their authors write them after the guides, and their suites.
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CheckpointError, createClient, definePlugin, SinkError, type Clock, type Sink } from '@sluice/core';
import { byOffset, defineApi, listing } from '@sluice/core/define';
import { newPermit, recordState, WaitQueue, type Limiter, type Permit } from '@sluice/core/kit';
import { serveListing, testLimiter, testPlugin, testSink, testSource, testStateStore } from '@sluice/testing';

const folder = mkdtempSync(join(tmpdir(), 'sluice-authors-'));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newPath = () => join(folder, String((files += 1)));

// writeApi.md
export const teas = defineApi({
  name: 'teas',
  sources: {
    leaves: listing({
      path: '/v1/leaves',
      query: { colour: '{colour}' },
      pageSize: { param: 'limit', default: 100, max: 250 },
      paging: byOffset({ param: 'offset' }),
      rows: 'data.items',
      total: 'data.total',
      decode: (record) => ({ id: String(Object(record).id), name: String(Object(record).name) }),
      version: '1',
      columns: ['id', 'name'],
      key: 'id',
    }),
  },
});

const all = Array.from({ length: 50 }, (_, index) => ({ id: `t${index}`, name: `Tea ${index}` }));
const serveTeas = () =>
  serveListing(all, ({ url: { searchParams }, rows, limit }) => {
    const offset = Number(searchParams.get('offset'));
    const items = rows.slice(offset, offset + limit(searchParams.get('limit')));
    return { body: { data: { items, total: rows.length } } };
  });
testSource({
  test,
  factory: async () => {
    const api = await serveTeas();
    const atOnce = { rateLimit: false, retry: { retries: 0 } } as const;
    const client = createClient({ apiKey: false, ...atOnce }).use(teas({ baseUrl: api.baseUrl }));
    return {
      ...api,
      source: () => client.teas.leaves({ colour: 'green', pageSize: 20 }),
      dispose: async () => {
        await client.close();
        await api.close();
      },
    };
  },
});

// writeSink.md, "A target without transactions"
export const lines = (path: string): Sink<object> => ({
  name: 'lines',
  target: path,
  identity: null,
  delivery: 'exactly-once',
  open: async ({ resumeAt, restart }) => {
    const found = existsSync(path) ? readFileSync(path).length : 0;
    const start = restart ? 0 : Number(resumeAt?.sinkPosition ?? 0);
    if (found < start) throw new CheckpointError(`${path} has lost rows: start over with restart.`);
    if (found > 0 && !resumeAt && !restart) throw new SinkError(`${path} has rows: name another.`);
    if (found > start) truncateSync(path, start);
    let size = start;
    const flush = async () => size;
    const close = async () => ({ target: path });
    return {
      start,
      write: async ({ items }) => {
        const text = items.map((row) => `${JSON.stringify(row)}\n`).join('');
        appendFileSync(path, text);
        size += Buffer.byteLength(text);
      },
      flush,
      seal: flush,
      close,
      suspend: close,
      abort: async (_reason, { isResumable }) => {
        if (!isResumable) rmSync(path, { force: true });
      },
    };
  },
});
testSink({
  test,
  factory: () => {
    const path = newPath();
    return {
      sink: () => lines(path),
      rows: () =>
        existsSync(path)
          ? readFileSync(path, 'utf8')
              .split('\n')
              .filter(Boolean)
              .map((row) => JSON.parse(row))
          : [],
    };
  },
});

// writeSink.md, "The checkpoint in the target"
const storeIn = (path: string) => {
  const read = (): Record<string, object[]> => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {});
  return recordState({
    open: async () => async () => undefined,
    async *read(list) {
      yield* read()[list] ?? [];
    },
    write: async (list, records, { isReplaced }) => {
      const lists = read();
      lists[list] = [...(isReplaced ? [] : (lists[list] ?? [])), ...records];
      writeFileSync(path, JSON.stringify(lists));
    },
  });
};
testStateStore({ test, factory: () => ({ store: storeIn(newPath()) }) });

// rateLimit.md, "A limiter of your own"
export function parallel(concurrency: number, clock: Clock): Limiter {
  let running = 0;
  let pausedUntil = 0;
  const pausedFor = () => Math.max(0, pausedUntil - clock.monotonic());
  const queue = new WaitQueue<Permit>(() => undefined);
  const serve = () => {
    if (pausedFor() > 0 || running >= concurrency || !queue.first) return;
    running += 1;
    const onRelease = () => {
      running -= 1;
      serve();
    };
    queue.first.admit(newPermit({ mayStart: () => pausedFor() === 0, onStart: () => undefined, onRelease }));
    serve();
  };
  return {
    acquire: (request) => {
      const permit = queue.wait(request);
      serve();
      return permit;
    },
    pause: (ms) => {
      pausedUntil = Math.max(pausedUntil, clock.monotonic() + ms);
      clock.after(pausedFor(), serve);
    },
    get state() {
      return { queued: queue.size, running, pausedFor: pausedFor() };
    },
  };
}
testLimiter({
  test,
  keeps: ['concurrency'],
  factory: ({ limits, clock }) => ({ limiter: parallel(limits[0]?.concurrency ?? Infinity, clock) }),
});

// plugins.md
export const brewing = () =>
  definePlugin({
    name: 'brewing',
    setup: ({ endpoint }) => {
      const api = endpoint('http://127.0.0.1:9');
      return { brew: () => api.request({ method: 'GET', path: '/tea', query: {}, route: 'brewing.tea' }) };
    },
    hooks: { warning: ({ message }) => message.length },
  });
testPlugin({ test, factory: () => ({ plugin: brewing }) });
