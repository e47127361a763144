import { isRecord, type SinkPage } from '@sluice/core/kit';
import { check, checkPlainJson, checkRows, checkSame, show } from '../check.js';
import { canonicalJson } from '../plainJson.js';
import { Skipped, type Checks } from '../suite.js';
import type { DrivenSink } from './drivenSink.js';
import type { Targets } from './targets.js';
import type { RowSamples } from './sinkFixture.js';

/** Small, empty and large pages, with a total that is not a multiple of any block size. */
const manySizes = [3, 0, 1, 111, 0, 2];

/** What a sink does without failures. */
export const rowChecks: Checks<Targets> = {
  'describes itself, always in the same way': async (targets) => {
    const target = await targets.create();
    const described = describe(target);
    const { name, identity, target: sinkPosition, delivery } = target.sink;
    check(typeof name === 'string' && name !== '', `The sink's name must be a string, not ${show(name)}.`);
    checkPlainJson(identity, "The sink's identity");
    check(
      sinkPosition === undefined || typeof sinkPosition === 'string',
      `The sink's target must be a string, not ${show(sinkPosition)}.`,
    );
    check(
      ['exactly-once', 'at-least-once'].includes(delivery),
      `The sink must promise 'exactly-once' or 'at-least-once', not ${show(delivery)}.`,
    );
    await target.writeAll(targets.pages([2]));
    checkSame(describe(target), described, 'The description of the sink after it was used');
    target.restart();
    const what = 'The description of another sink on the same target (a checkpoint would not match)';
    checkSame(describe(target), described, what);
  },

  'has the rows of all pages once and in order': async (targets) => {
    const { target, pages, writer } = await targets.open(manySizes);
    await writer.writeAndCommit(...pages.slice(0, 3));
    await writer.write(...pages.slice(3, 5));
    await writer.commit();
    await writer.writeAndCommit(...pages.slice(5));
    await writer.finish();
    await target.checkHolds(pages, 'After the end');
  },

  'has rows that only seal has flushed': async (targets) => {
    for (const sizes of [[1], [7, 3], [100], [101, 0]]) {
      const { target, pages, writer } = await targets.open(sizes);
      await writer.write(...pages);
      await writer.finish();
      await target.checkHolds(pages, `After pages of ${sizes.join(' and ')} rows, seal and close`);
    }
  },

  'has the rows of a page with more than a thousand': async (targets) => {
    const target = await targets.create();
    const pages = targets.pages([1_200, 1]);
    await target.writeAll(pages);
    await target.checkHolds(pages, 'After a page of 1200 rows and one more');
  },

  'has equal rows as often as they arrived, if they have no key': async (targets) => {
    const samples = omitKey(targets.samples);
    const target = await targets.with(samples).create();
    const writer = await target.openOrSkip({}, 'a sink that takes rows without a key');
    const pages = [0, 1, 0].map((from, at) => createPage([samples.row(from), samples.row(0)], at, at === 2));
    await writer.writeAndCommit(...pages);
    await writer.finish();
    await target.checkHolds(pages, 'After equal rows in one page and in several');
  },

  'has nested values, as they are or as JSON text': async (targets) => {
    const { samples } = targets;
    if (!samples.nested) throw new Skipped('`nested` of the rows');
    const target = await targets.create();
    const pages = [createPage([samples.nested(), samples.row(0)], 0, true)];
    await target.writeAll(pages);
    const rows = await target.rows();
    const expected = target.readBack(pages);
    const asText = expected.map(stringifyNested);
    const isText = canonicalJson(rows) === canonicalJson(asText);
    checkRows(rows, isText ? asText : expected, 'After a row with nested values');
  },

  'has nothing if there were no rows': async (targets) => {
    for (const sizes of [[], [0], [0, 0]]) {
      const target = await targets.create();
      await target.writeAll(targets.pages(sizes));
      checkRows(await target.rows(), [], `After ${sizes.length} pages without rows`);
    }
  },

  'does not change the rows that it receives': async (targets) => {
    const target = await targets.create();
    const pages = targets.pages([3, 2]);
    const before = canonicalJson(pages);
    await target.writeAll(pages);
    check(
      canonicalJson(pages) === before,
      'The sink changed rows that it received. They belong to the source, which compares them with later rows.',
    );
  },

  'separates two targets that are written at the same time': async (targets) => {
    const one = await targets.create();
    const other = await targets.create();
    const ones = targets.pages([2, 1]);
    const others = targets.pages([1, 3], 50);
    const writer = await one.open();
    const otherWriter = await other.open();
    for (const at of [0, 1]) {
      await writer.writeAndCommit(...ones.slice(at, at + 1));
      await otherWriter.writeAndCommit(...others.slice(at, at + 1));
    }
    await otherWriter.finish();
    await writer.finish();
    await one.checkHolds(ones, 'The first of two targets that were written at the same time');
    await other.checkHolds(others, 'The second of two targets that were written at the same time');
  },
};

function createPage(items: readonly unknown[], index: number, endsPartition: boolean): SinkPage<unknown> {
  return { items, scope: { page: `page ${index}` }, partition: 0, endsPartition };
}

/** Without a key, equal rows are different rows; with a key, a sink may keep only one of them. */
function omitKey({ schema, ...samples }: RowSamples<unknown>): RowSamples<unknown> {
  if (!schema) return samples;
  const { columns, types } = schema;
  return { ...samples, schema: { columns, ...(types && { types }) } };
}

/** The row with nested values as text, as in a table with scalar columns. */
function stringifyNested(row: unknown): unknown {
  if (!isRecord(row)) return row;
  const isNested = (field: unknown) => typeof field === 'object' && field !== null;
  return Object.fromEntries(
    Object.entries(row).map(([name, field]) => [name, isNested(field) ? JSON.stringify(field) : field]),
  );
}

function describe({ sink: { name, identity, target, delivery } }: DrivenSink): object {
  return { name, identity, target, delivery };
}
