import { Skipped, type Checks } from '../suite.js';
import { separate } from './endingChecks.js';
import type { Targets } from './targets.js';

const sizes = [1, 3, 0, 2];

/** What a sink preserves when its process dies. */
export const crashChecks: Checks<Targets> = {
  'resumes after a crash after any commit': async (targets) => {
    for (let commits = 0; commits <= sizes.length; commits += 1) {
      const { target, pages, committed } = await crashAfter(targets, commits);
      // A second crash right after the resume must not prevent the next one.
      await target.resume(committed);
      await target.crash();
      const writer = await target.resume(committed);
      await writer.writeAndCommit(...pages.slice(committed.pages));
      await writer.finish();
      await target.checkSurvived(pages, `After a crash at page ${commits}, another one at once, and completed`);
    }
  },

  'has the committed rows after a crash, and no others if it promises exactly-once': async (targets) => {
    for (let commits = 0; commits <= sizes.length; commits += 1) {
      const { target, pages, committed } = await crashAfter(targets, commits);
      const writer = await target.resume(committed);
      await writer.finish();
      const kept = pages.slice(0, committed.pages);
      await target.checkSurvived(kept, `After a crash at page ${commits}, opened there and closed`, pages);
    }
  },

  'resumes at the position before the last, since a crash may happen before the last is in a checkpoint': async (
    targets,
  ) => {
    for (let commits = 1; commits <= sizes.length; commits += 1) {
      const { target, pages, writer } = await targets.open(sizes);
      if (target.keepsState) throw new Skipped(separate);
      await writer.writeAndCommit(...pages.slice(0, commits - 1));
      const { committed } = writer;
      await writer.writeAndCommit(...pages.slice(commits - 1, commits));
      await target.crash();
      await target.resumeAndFinish(committed, pages);
      await target.checkSurvived(pages, `Resumed before page ${commits}, and completed`);
    }
  },

  'resumes at the position before its first row, if it has one': async (targets) => {
    const { target, pages, writer } = await targets.open([2, 1]);
    const { committed } = writer;
    if (committed.sinkPosition === undefined) throw new Skipped('a sink whose writer has a `start`');
    await writer.write(...pages.slice(0, 1));
    await target.crash();
    await target.resumeAndFinish(committed, pages);
    await target.checkSurvived(pages, 'Resumed at start after a crash, and completed');
  },

  'is closed after a crash after seal': async (targets) => {
    for (const commits of [0, 2]) {
      const { target, pages, writer } = await writePages(targets, commits);
      const sinkPosition = await writer.seal();
      await target.crash();
      const second = await target.open({ resumeAt: { sinkPosition, isSealed: true } });
      await second.close();
      await target.checkSurvived(pages, 'Sealed, crashed, opened as sealed and closed');
    }
  },

  'is closed again after a crash between close and the removal of the checkpoint': async (targets) => {
    const { target, pages, writer } = await writePages(targets, 2);
    const sinkPosition = await writer.seal();
    await writer.close();
    await target.crash();
    const second = await target.open({ resumeAt: { sinkPosition, isSealed: true } });
    await second.close();
    await target.checkSurvived(pages, 'Closed, crashed, opened as sealed and closed again');
  },

  'resumes at its last commit after a crash before the checkpoint recorded the seal': async (targets) => {
    for (const commits of [2, sizes.length]) {
      const { target, pages, writer } = await writePages(targets, commits);
      if (target.keepsState) throw new Skipped(separate);
      const { committed } = writer;
      await writer.seal();
      await target.crash();
      await target.resumeAndFinish(committed, pages);
      await target.checkSurvived(pages, 'Sealed, crashed, opened at the commit before, and completed');
    }
  },
};

/** A target whose process died after this many commits, while it wrote the next page. */
async function crashAfter(targets: Targets, commits: number) {
  const { target, pages, writer } = await targets.open(sizes);
  await writer.writeAndCommit(...pages.slice(0, commits));
  await writer.write(...pages.slice(commits, commits + 1));
  await target.crash();
  return { target, pages, committed: writer.committed };
}

/** A target to which all pages are written, with commits after the first ones. */
async function writePages(targets: Targets, commits: number) {
  const { target, pages, writer } = await targets.open(sizes);
  await writer.writeAndCommit(...pages.slice(0, commits));
  await writer.write(...pages.slice(commits));
  return { target, pages, writer };
}
