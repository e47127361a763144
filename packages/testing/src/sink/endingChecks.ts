import { catchFailure, check, checkSluiceError, show, type Failure } from '../check.js';
import { Skipped, type Checks } from '../suite.js';
import { calm } from '../calm.js';
import type { DrivenSink, Opening } from './drivenSink.js';
import { DrivenWriter } from './drivenWriter.js';
import type { Targets } from './targets.js';

/** A sink that keeps its own checkpoints resumes at the last of them only. */
export const separate = 'a sink whose checkpoints are kept elsewhere';

type Ending = Pick<DrivenWriter, 'abort' | 'seal' | 'finish'>;

/** What an aborted export leaves, and what the next export does with it. */
export const endingChecks: Checks<Targets> = {
  'resumes where an export was suspended': async (targets) => {
    const { target, pages, writer } = await targets.open([2, 1, 3]);
    await writer.writeAndCommit(...pages.slice(0, 2));
    await writer.write(...pages.slice(2));
    const { committed } = writer;
    await writer.abort(true);
    // The same sink object: a program may retry in the same process.
    await target.resumeAndFinish(committed, pages);
    await target.checkSurvived(pages, 'Aborted after a commit, resumed there, and completed');
  },

  'allows a new export after one was aborted for good': async (targets) => {
    for (const commits of [0, 1]) {
      const { target, pages: old, writer } = await targets.open([2, 1]);
      const pages = targets.pages([1, 2], 50);
      await writer.writeAndCommit(...old.slice(0, commits));
      await writer.write(...old.slice(commits));
      await writer.abort(false);
      const again = await target.open();
      await again.finish(pages);
      await target.checkSurvived(pages, 'Aborted for good, and written again', [...old, ...pages]);
    }
  },

  'starts over on request where an unfinished export left something': async (targets) => {
    for (const commits of [0, 1, 2]) {
      const { target, pages: old, writer } = await targets.open([2, 3]);
      const pages = targets.pages([1, 2], 50);
      await writer.writeAndCommit(...old.slice(0, commits));
      await writer.write(...old.slice(commits));
      await target.crash();
      const again = await target.open({ restart: true });
      await again.writeAndCommit(...pages.slice(0, 1));
      // A restart happens only once; from here the export resumes like others.
      await target.crash();
      await target.resumeAndFinish(again.committed, pages);
      await target.checkSurvived(pages, 'Started over, crashed, and completed', [...old, ...pages]);
    }
  },

  'writes nothing once abort, seal or close has resolved': async (targets) => {
    const endings: Readonly<Record<string, (writer: Ending) => Promise<unknown>>> = {
      'abort for good': (writer) => writer.abort(false),
      'abort to resume': (writer) => writer.abort(true),
      seal: (writer) => writer.seal(),
      close: (writer) => writer.finish(),
    };
    for (const [ending, end] of Object.entries(endings)) {
      const { target, pages, writer } = await targets.open([2, 1]);
      await writer.writeAndCommit(...pages.slice(0, 1));
      await writer.write(...pages.slice(1));
      await end(writer);
      // Before they are published, there may be nothing to read.
      const seen = (): Promise<string> => target.rows().then((rows) => rows.map(show).join(), show);
      const before = await seen();
      await calm();
      const after = await seen();
      check(after === before, `The rows changed after ${ending} had resolved: from ${show(before)} to ${show(after)}.`);
    }
  },

  'leaves a finished target alone, unless it replaces it completely': async (targets) => {
    const { target, pages: old, writer } = await targets.open([2, 3]);
    const pages = targets.pages([1, 2], 50);
    await writer.finish(old);
    target.restart();
    const second = await openOrCheckRefusal(target, {});
    await target.checkHolds(old, 'Opened a second time, after it was finished');
    await second?.abort(false);
    await target.checkHolds(old, 'Opened a second time, after it was finished, and aborted');
    const third = await openOrCheckRefusal(target, { restart: true });
    await third?.finish(pages);
    if (!third) await target.checkHolds(old, 'A restart that was refused, after it was finished');
    else await target.checkSurvived(pages, 'Started over after it was finished', [...old, ...pages]);
  },

  'leaves an unfinished target alone when it refuses a second export': async (targets) => {
    const { target, pages, writer } = await targets.open([2, 3]);
    await writer.writeAndCommit(...pages.slice(0, 1));
    await target.crash();
    if (await openOrCheckRefusal(target, {}))
      throw new Skipped('a sink that refuses a target that another export is using');
    await target.resumeAndFinish(writer.committed, pages);
    await target.checkSurvived(pages, 'Continued after another export was refused');
  },

  'refuses a position beyond its target, and resumes at one within it': async (targets) => {
    const target = await targets.create();
    if (!target.isExact) throw new Skipped('a sink that promises exactly-once');
    if (target.keepsState) throw new Skipped(separate);
    const pages = targets.pages([2, 3]);
    const writer = await target.open();
    await writer.writeAndCommit(...pages.slice(0, 1));
    const near = writer.committed;
    await writer.writeAndCommit(...pages.slice(1));
    const far = writer.committed;
    if (near.sinkPosition === undefined || far.pages === near.pages)
      throw new Skipped('a sink that can commit after any page');
    await target.crash();
    const cut = await target.resume(near);
    await cut.abort(true);
    const beyond = await target.tryOpen({ resumeAt: { sinkPosition: far.sinkPosition ?? null, isSealed: false } });
    check(
      !(beyond instanceof DrivenWriter),
      'Rows were truncated, and a position after them was accepted anyway, so they would be missing. Refuse it with a CheckpointError.',
    );
    checkSluiceError(beyond, 'A position beyond the target must be refused with a CheckpointError', 'checkpoint');
    await target.resumeAndFinish(near, pages);
    await target.checkHolds(pages, 'Resumed after a position was refused');
  },

  'reports in check what open would report, and changes nothing': async (targets) => {
    const target = await targets.create();
    if (!target.sink.check) throw new Skipped('`check` of the sink');
    const pages = targets.pages([2, 1]);
    await checkAgreement(target, { isEndless: true }, 'a new target and an endless source');
    await checkAgreement(target, {}, 'a new target');
    const writer = await target.open();
    await writer.finish(pages);
    target.restart();
    await catchFailure(() => callCheck(target, { restart: true }));
    await target.checkHolds(pages, 'After check with a restart');
    await checkAgreement(target, {}, 'a finished target');
    await checkAgreement(target, { restart: true }, 'a finished target with a restart');
  },
};

/** The writer; `undefined` if the sink refused with an error for people. */
async function openOrCheckRefusal(target: DrivenSink, opening: Opening): Promise<DrivenWriter | undefined> {
  const outcome = await target.tryOpen(opening);
  if (outcome instanceof DrivenWriter) return outcome;
  checkRefusal(outcome);
  return undefined;
}

async function checkAgreement(target: DrivenSink, opening: Opening, what: string): Promise<void> {
  const failure = await target.inTime(
    catchFailure(() => callCheck(target, opening)),
    'check',
  );
  if (failure) checkRefusal(failure);
  const predicted = failure ? 'refuses' : 'accepts';
  const writer = await openOrCheckRefusal(target, opening);
  const actual = writer ? 'accepts' : 'refuses';
  check(predicted === actual, `check ${predicted} ${what}, which open ${actual}.`);
  await writer?.abort(false);
}

/** Calls `check` as an export does, which has locked the state. */
async function callCheck(target: DrivenSink, opening: Opening): Promise<void> {
  const release = await target.lock();
  try {
    await target.sink.check?.(target.context(opening));
  } finally {
    await release();
  }
}

function checkRefusal(failure: Failure): void {
  checkSluiceError(failure, 'An unusable target must be refused with a SinkError, ConfigError or CheckpointError');
}
