import { Skipped, type Checks } from '../suite.js';
import type { Targets } from './targets.js';

/** Rows of endless sources, e.g. watches, are in their final place from the start. */
export const endlessChecks: Checks<Targets> = {
  'shows the rows of an endless source as soon as they are committed': async (targets) => {
    const { target, pages, writer } = await openEndless(targets, [2, 0, 1]);
    for (const [at, page] of pages.entries()) {
      await writer.write(page);
      if (await writer.commit()) await target.checkHolds(pages.slice(0, at + 1), `Committed after page ${at}`);
    }
  },

  'resumes an endless source after a crash': async (targets) => {
    const { target, pages, writer } = await openEndless(targets, [2, 1, 3]);
    await writer.writeAndCommit(...pages.slice(0, 1));
    await writer.write(...pages.slice(1, 2));
    await target.crash();
    const again = await target.resume(writer.committed, { isEndless: true });
    await again.writeAndCommit(...pages.slice(again.committed.pages));
    await target.checkSurvived(pages, 'After a crash and more rows');
  },

  'is suspended, and resumes later': async (targets) => {
    const { target, pages, writer } = await openEndless(targets, [2, 1, 3]);
    if (!writer.canSuspend) throw new Skipped('`suspend` of the writer');
    await writer.writeAndCommit(...pages.slice(0, 2));
    await writer.suspend();
    await target.checkHolds(pages.slice(0, 2), 'After it was suspended');
    target.restart();
    const again = await target.resume(writer.committed, { isEndless: true });
    await again.writeAndCommit(...pages.slice(again.committed.pages));
    await again.suspend();
    await target.checkHolds(pages, 'After it was suspended again');
  },
};

/** Some targets refuse endless sources: a compressed file has an incomplete last block until its end. */
async function openEndless(targets: Targets, sizes: readonly number[]) {
  const target = await targets.create();
  const writer = await target.openOrSkip({ isEndless: true }, 'a sink that supports endless sources');
  return { target, pages: targets.pages(sizes), writer };
}
