import { SluiceError, type SinkPage } from '@sluice/core';
import { check, checkPlainJson, checkRows, checkSame, shown } from '../check.js';
import { canonicalJson, isRecord } from '../plainJson.js';
import { Skipped } from '../suite.js';
import { DrivenSink, openTarget, type SinkTrial } from './drivenSink.js';
import { DrivenWriter } from './drivenWriter.js';
import { pagesOf } from './samplePages.js';
import type { RowSamples } from './sinkFixture.js';

export type SinkCheck = <T>(trial: SinkTrial<T>) => Promise<void>;

export type SinkChecks = Readonly<Record<string, SinkCheck>>;

/** Small, empty and large pages, with a total that is not a multiple of any block size. */
const manySizes = [3, 0, 1, 111, 0, 2];

/** What a sink does without failures. */
export const rowChecks: SinkChecks = {
  'says what it is, and always the same': async (trial) => {
    const target = await DrivenSink.on(trial);
    const described = descriptionOf(target);
    const { name, identity, target: sinkPosition, delivery } = target.sink;
    check(typeof name === 'string' && name !== '', `The sink's name has to be a text, and not ${shown(name)}.`);
    checkPlainJson(identity, "The sink's identity");
    check(
      sinkPosition === undefined || typeof sinkPosition === 'string',
      `The sink's target has to be a text, and not ${shown(sinkPosition)}.`,
    );
    check(
      ['exactly-once', 'at-least-once'].includes(delivery),
      `The sink has to promise 'exactly-once' or 'at-least-once', and not ${shown(delivery)}.`,
    );
    await target.writeAll(pagesOf(trial.samples, [2]));
    checkSame(descriptionOf(target), described, 'What the sink says of itself when it was used');
    target.restart();
    const what = 'What another sink on the same target says of itself (a checkpoint would not fit)';
    checkSame(descriptionOf(target), described, what);
  },

  'holds the rows of all pages once and in order': async (trial) => {
    const { target, pages, writer } = await openTarget(trial, manySizes);
    await writer.writeAndCommit(...pages.slice(0, 3));
    await writer.write(...pages.slice(3, 5));
    await writer.commit();
    await writer.writeAndCommit(...pages.slice(5));
    await writer.finish();
    await target.checkHolds(pages, 'After the end');
  },

  'holds rows that nothing but seal has flushed': async (trial) => {
    for (const sizes of [[1], [7, 3], [100], [101, 0]]) {
      const { target, pages, writer } = await openTarget(trial, sizes);
      await writer.write(...pages);
      await writer.finish();
      await target.checkHolds(pages, `After pages of ${sizes.join(' and ')} rows, seal and close`);
    }
  },

  'holds the rows of a page that has more than a thousand': async (trial) => {
    const target = await DrivenSink.on(trial);
    const pages = pagesOf(trial.samples, [1_200, 1]);
    await target.writeAll(pages);
    await target.checkHolds(pages, 'After a page of 1200 rows and one more');
  },

  'holds rows that are equal as often as they came, where nothing names them': async (trial) => {
    const samples = withoutKey(trial.samples);
    const target = await DrivenSink.on({ ...trial, samples });
    const outcome = await target.tryOpen({});
    if (!(outcome instanceof DrivenWriter)) {
      if (SluiceError.is(outcome.refusal)) throw new Skipped('a sink that takes rows without a key');
      throw outcome.refusal;
    }
    const pages = [0, 1, 0].map((from, at) => pageOf([samples.row(from), samples.row(0)], at === 2));
    await outcome.writeAndCommit(...pages);
    await outcome.finish();
    await target.checkHolds(pages, 'After equal rows in one page and in several');
  },

  'holds values that lie in a value, as they are or as text of JSON': async (trial) => {
    const { samples } = trial;
    if (!samples.nested) throw new Skipped('`nested` of the rows');
    const target = await DrivenSink.on(trial);
    const pages = [pageOf([samples.nested(), samples.row(0)], true)];
    await target.writeAll(pages);
    const rows = await target.rows();
    const expected = target.readBack(pages);
    const asText = expected.map(withTextOfNested);
    const isText = canonicalJson(rows) === canonicalJson(asText);
    checkRows(rows, isText ? asText : expected, 'After a row with values in a value');
  },

  'holds nothing where there were no rows': async (trial) => {
    for (const sizes of [[], [0], [0, 0]]) {
      const target = await DrivenSink.on(trial);
      await target.writeAll(pagesOf(trial.samples, sizes));
      checkRows(await target.rows(), [], `After ${sizes.length} pages without rows`);
    }
  },

  'leaves the rows that it is given as they are': async (trial) => {
    const target = await DrivenSink.on(trial);
    const pages = pagesOf(trial.samples, [3, 2]);
    const before = canonicalJson(pages);
    await target.writeAll(pages);
    check(
      canonicalJson(pages) === before,
      'The sink changed rows that it was given. They belong to the source, which compares them with what comes next.',
    );
  },

  'keeps two targets apart that are written side by side': async (trial) => {
    const [one, other] = [await DrivenSink.on(trial), await DrivenSink.on(trial)];
    const [ones, others] = [pagesOf(trial.samples, [2, 1]), pagesOf(trial.samples, [1, 3], 50)];
    const [writer, otherWriter] = [await one.open(), await other.open()];
    for (const at of [0, 1]) {
      await writer.writeAndCommit(...ones.slice(at, at + 1));
      await otherWriter.writeAndCommit(...others.slice(at, at + 1));
    }
    await otherWriter.finish();
    await writer.finish();
    await one.checkHolds(ones, 'The first of two targets that were written side by side');
    await other.checkHolds(others, 'The second of two targets that were written side by side');
  },
};

function pageOf<T>(items: readonly T[], endsPartition: boolean): SinkPage<T> {
  return { items, partition: 0, endsPartition };
}

/** Without a key, equal rows are different rows; with a key, a sink may keep only one of them. */
function withoutKey<T>({ schema, ...samples }: RowSamples<T>): RowSamples<T> {
  return { ...samples, ...(schema && { schema: { columns: schema.columns } }) };
}

/** The row with nested values as text, as in a table with scalar columns. */
function withTextOfNested(row: unknown): unknown {
  if (!isRecord(row)) return row;
  const isNested = (field: unknown) => typeof field === 'object' && field !== null;
  return Object.fromEntries(
    Object.entries(row).map(([name, field]) => [name, isNested(field) ? JSON.stringify(field) : field]),
  );
}

function descriptionOf<T>({ sink: { name, identity, target, delivery } }: DrivenSink<T>): object {
  return { name, identity, target, delivery };
}
