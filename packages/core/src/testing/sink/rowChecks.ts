import { check, checkPlainJson, checkRows, checkSame, shown } from '../check.js';
import { canonicalJson } from '../plainJson.js';
import { DrivenSink, type SinkTrial } from './drivenSink.js';
import { pagesOf } from './samplePages.js';

/** A check of any sink. */
export type SinkCheck = <T>(trial: SinkTrial<T>) => Promise<void>;

/** Checks of a sink by what they prove. */
export type SinkChecks = Readonly<Record<string, SinkCheck>>;

/** Small, empty and large pages, in a number that no block size divides. */
const manySizes = [3, 0, 1, 111, 0, 2];

/** What a sink does when all goes well. */
export const rowChecks: SinkChecks = {
  'says what it is, and always the same': async (trial) => {
    const target = await DrivenSink.on(trial);
    const said = described(target);
    const { name, identity, target: place, promises } = target.sink;
    check(typeof name === 'string' && name !== '', `The sink's name has to be a text, and not ${shown(name)}.`);
    checkPlainJson(identity, "The sink's identity");
    check(
      place === undefined || typeof place === 'string',
      `The sink's target has to be a text, and not ${shown(place)}.`,
    );
    check(
      ['exactly-once', 'at-least-once'].includes(promises),
      `The sink has to promise 'exactly-once' or 'at-least-once', and not ${shown(promises)}.`,
    );
    const writer = await target.open();
    await writer.writeAndCommit(...pagesOf(trial.samples, [2]));
    await writer.finish();
    checkSame(described(target), said, 'What the sink says of itself when it was used');
    target.startAnew();
    checkSame(
      described(target),
      said,
      'What another sink on the same target says of itself (a checkpoint would not fit)',
    );
  },

  'holds the rows of all pages once and in order': async (trial) => {
    const target = await DrivenSink.on(trial);
    const pages = pagesOf(trial.samples, manySizes);
    const writer = await target.open();
    await writer.writeAndCommit(...pages.slice(0, 3));
    await writer.write(...pages.slice(3, 5));
    await writer.commit();
    await writer.writeAndCommit(...pages.slice(5));
    await writer.finish();
    await target.checkHolds(pages, 'After the end');
  },

  'holds rows that nothing but seal has flushed': async (trial) => {
    for (const sizes of [[1], [7, 3], [100], [101, 0]]) {
      const target = await DrivenSink.on(trial);
      const pages = pagesOf(trial.samples, sizes);
      const writer = await target.open();
      await writer.write(...pages);
      await writer.finish();
      await target.checkHolds(pages, `After pages of ${sizes.join(' and ')} rows, seal and close`);
    }
  },

  'holds nothing where there were no rows': async (trial) => {
    for (const sizes of [[], [0], [0, 0]]) {
      const target = await DrivenSink.on(trial);
      const writer = await target.open();
      await writer.writeAndCommit(...pagesOf(trial.samples, sizes));
      await writer.finish();
      checkRows(await target.rows(), [], `After ${sizes.length} pages without rows`);
    }
  },

  'leaves the rows that it is given as they are': async (trial) => {
    const target = await DrivenSink.on(trial);
    const pages = pagesOf(trial.samples, [3, 2]);
    const before = canonicalJson(pages);
    const writer = await target.open();
    await writer.writeAndCommit(...pages);
    await writer.finish();
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

function described<T>({ sink: { name, identity, target, promises } }: DrivenSink<T>): object {
  return { name, identity, target, promises };
}
