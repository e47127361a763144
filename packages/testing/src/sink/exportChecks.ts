import { createSource, exportTo, type ExportFlow, type ExportOptions, type Source } from '@sluice/core';
import { check, show } from '../check.js';
import type { Check, Checks } from '../suite.js';
import type { DrivenSink } from './drivenSink.js';
import { Interruption, manners, type Manner } from './interruption.js';
import type { Targets } from './targets.js';

const sizes = [2, 0, 1, 3, 1];
const options: ExportOptions = { commitEvery: 2, prefetch: 0 };

/** Complete exports, interrupted at each step in turn and run again. */
export const exportChecks: Checks<Targets> = Object.fromEntries(
  manners.map((manner): [string, Check<Targets>] => [
    `has the same result as an undisturbed export after one that ${manner} any of its steps`,
    async (targets) => {
      for (let nth = 1; ; nth += 1) if (await runInterrupted(targets, manner, nth)) return;
    },
  ]),
);

/** Returns `true` if an export has fewer steps than `nth`, so all were tried. */
async function runInterrupted(targets: Targets, manner: Manner, nth: number): Promise<boolean> {
  const target = await targets.create();
  const interruption = new Interruption(target, manner, nth);
  const run = begin(target, targets, interruption).run();
  const failure = await target.inTime(Promise.race([interruption.died, run.then(() => undefined, show)]), 'An export');
  const pages = targets.pages(sizes);
  if (interruption.step === '') {
    check(failure === undefined, `An undisturbed export failed: ${failure ?? ''}`);
    await target.checkHolds(pages, 'After an undisturbed export');
    return true;
  }
  const what = `An export that ${manner} ${interruption.step}`;
  if (manner.startsWith('dies')) await target.crash();
  else target.restart();
  const rerun = begin(target, targets).run();
  const again = await target.inTime(
    rerun.then(() => undefined, show),
    `${what}, and is run again,`,
  );
  check(again === undefined, `${what} can't be resumed: ${again ?? ''}`);
  await target.checkSurvived(pages, `${what}, run again`);
  return false;
}

function begin(target: DrivenSink, targets: Targets, interruption?: Interruption): ExportFlow {
  const { sink, state } = interruption ?? target;
  return exportTo(createRowSource(targets), sink, { ...options, ...(sink.state === undefined && { state }) });
}

function createRowSource(targets: Targets): Source<unknown> {
  const pages = targets.pages(sizes);
  return createSource({
    name: 'testing.rows',
    identity: { sizes },
    schema: targets.samples.schema ?? { columns: [] },
    fetch: ({ at }) => {
      const index = at && 'cursor' in at ? Number(at.cursor) : 0;
      const next = index + 1 < pages.length ? { cursor: String(index + 1) } : ('end' as const);
      return Promise.resolve({ rows: pages[index]?.items ?? [], next });
    },
  });
}
