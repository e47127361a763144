/**
 * A configuration with a plugin: its sink `journal` appends to a file and can go back to a place in it, and its store `kept`
 * keeps records in one.
 */
export const journal = `
import { appendFileSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const sink = (target, { folder }) => {
  const path = join(folder, target);
  const place = async () => statSync(path).size;
  return {
    name: 'journal', identity: { format: 'json' }, delivery: 'exactly-once',
    async open({ resumeAt, restart }) {
      if (resumeAt) truncateSync(path, resumeAt.sinkPosition);
      else writeFileSync(path, '', { flag: restart ? 'w' : 'wx' });
      return {
        start: 0,
        async write({ items }) { appendFileSync(path, items.map((row) => JSON.stringify(row) + '\\n').join('')); },
        flush: place, seal: place,
        suspend: async () => ({ target: path }),
        close: async () => ({ target: path, bytes: await place() }),
        async abort(_, { isResumable }) { if (!isResumable) rmSync(path, { force: true }); },
      };
    },
  };
};

const store = (target, { folder }) => {
  const path = join(folder, target);
  const all = () => (existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {});
  const put = async (name, record) => writeFileSync(path, JSON.stringify({ ...all(), [name]: record }));
  return {
    lock: async () => async () => {},
    load: async (name) => all()[name],
    save: put,
    remove: (name) => put(name, undefined),
    log: (name) => ({
      bytes: 0,
      async *read() { yield* all()[name] ?? []; },
      append: (record) => put(name, [...(all()[name] ?? []), record]),
      replace: (records) => put(name, [...records]),
      remove: () => put(name, undefined),
      close: async () => {},
    }),
  };
};

export default { plugins: [{ name: 'journal', sinks: { journal: sink }, stores: { kept: store } }] };
`;
