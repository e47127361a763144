import { received } from '../../packages/core/test/hostile/answeringLink.js';
import type { Expected } from '../../packages/core/test/hostile/expectedPage.js';
import { expectedPage } from '../../packages/core/test/hostile/expectedPage.js';
import { endOfListing, expectedWalks, type ExpectedWalk } from '../../packages/core/test/hostile/expectedWalk.js';
import { hostileKey } from '../../packages/core/test/hostile/hostileKey.js';
import { judged } from '../../packages/core/test/hostile/judged.js';
import { changesFault } from './changesFault.js';
import type { HostileCase } from './hostileCase.js';
import type { HostileChild } from './hostileChild.js';
import type { HostileServer, SentAnswer } from './hostileServer.js';
import type { WalkReport } from './order.js';
import { onTheWire } from './onTheWire.js';
import { plainWire } from './wire.js';
import { writtenFault } from './writtenFault.js';

/** What came of a case. */
export interface Verdict {
  /** `rows`, or an error's code. */
  readonly end: string;
  /** What is wrong, as a sentence. */
  readonly fault?: string;
}

/** Lets a child make a walk, and judges what came of it. */
export async function verdictOn(each: HostileCase, child: HostileChild, server: HostileServer): Promise<Verdict> {
  const { api, use, texts, wires, first } = each;
  const hostile = texts.map((text, at) => (wires ? onTheWire(api, text, wires[at]!) : undefined));
  const expected = texts.map(
    (text, at): readonly Expected[] => hostile[at]?.expected ?? [expectedPage(api, received(text))],
  );
  if (wires) {
    const before: SentAnswer[] = first === undefined ? [] : [onTheWire(api, first, plainWire).answer];
    const last = onTheWire(api, endOfListing[api], plainWire).answer;
    server.answerWith([...before, ...hostile.flatMap((made) => (made ? [made.answer] : []))], last);
  }
  const report = await child.ask({
    ...{ kind: 'walk', api, use },
    ...(!wires && { texts: [...(first === undefined ? [] : [first]), ...texts] }),
  });
  if ('died' in report) return { end: 'death', fault: report.died };
  const fault = report.strays[0] ?? report.pollution ?? faultIn(each, report, expected);
  return { end: report.error?.code ?? 'rows', ...(fault !== undefined && { fault }) };
}

function faultIn(
  { api, use, texts, wires, first }: HostileCase,
  report: WalkReport,
  expected: readonly (readonly Expected[])[],
): string | undefined {
  const walks = expectedWalks(api, expected, hostileKey);
  const sent = [...texts, JSON.stringify(wires ?? [])];
  const judge = (as: Partial<ExpectedWalk> = {}, marks = report.marks): string | undefined =>
    judged(
      report,
      marks,
      walks.map((walk) => ({ ...walk, ...as })),
      { secret: hostileKey, sent },
    );
  if (use === 'rows') return judge();
  if (use === 'texts') return judge() ?? writtenFault(api, report.written ?? {}, walks);
  // Rows that were written to a file, or compared, are looked at where they went.
  if (use === 'file')
    return judge({ rows: [] }) ?? (report.error ? undefined : writtenFault(api, report.written ?? {}, walks));
  return judge({ rows: [] }, report.marks.slice(1)) ?? changesFault(api, report, first ?? '', walks);
}
