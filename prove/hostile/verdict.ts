import { endOfListing } from './expectedWalk.js';
import { faultIn, type Arrived } from './oracle.js';
import type { HostileCase } from './hostileCase.js';
import type { HostileChild } from './hostileChild.js';
import type { HostileServer, SentAnswer } from './hostileServer.js';
import { onTheWire } from './onTheWire.js';
import { plainWire } from './wire.js';

/** The outcome of a case. */
export interface Verdict {
  /** `rows`, or an error's code. */
  readonly end: string;
  /** What is wrong, as a sentence. */
  readonly fault?: string;
}

/** Lets a child perform a walk, and judges its outcome. */
export async function verdictOn(each: HostileCase, child: HostileChild, server: HostileServer): Promise<Verdict> {
  const { api, use, texts, wires, first } = each;
  const arrived = wires && sentBy(server, each, wires);
  const documents = { texts, ...(first !== undefined && { first }) };
  const report = await child.ask({ kind: 'walk', api, use, ...(!wires && documents) });
  if ('died' in report) return { end: 'death', fault: report.died };
  const fault = faultIn(each, report, arrived);
  return { end: report.error?.code ?? 'rows', ...(fault !== undefined && { fault }) };
}

/** Puts the documents of a case on their wires. */
function sentBy(
  server: HostileServer,
  { api, texts, first }: HostileCase,
  wires: NonNullable<HostileCase['wires']>,
): Arrived {
  const hostile = texts.map((text, at) => onTheWire(api, text, wires[at]!));
  const before: SentAnswer[] = first === undefined ? [] : [onTheWire(api, first, plainWire).answer];
  const last = onTheWire(api, endOfListing[api], plainWire).answer;
  server.answerWith([...before, ...hostile.map(({ answer }) => answer)], last);
  return { expected: hostile.map(({ expected }) => expected), sent: JSON.stringify(wires) };
}
