// Proves that hostile responses yield the correct rows or an error that says what is wrong, without side effects: mutated
// documents over odd wires, and bombs, are sent to both APIs in a process with 128 MB of heap, under a watchdog.
//
//   npm run prove -- hostile --answers 100000 --seed 7
//
// The first failure is shrunk, and printed with the command that repeats it.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startSandbox } from '@sluice/sandbox';
import { shortened } from './hostile/hostileDocument.js';
import { Campaign, type Finding } from './hostile/campaign.js';
import { corpusCases } from './hostile/corpus.js';
import type { HostileCase, ValidRows } from './hostile/hostileCase.js';
import { childHeap, HostileChild } from './hostile/hostileChild.js';
import { HostileServer } from './hostile/hostileServer.js';
import type { HeapReport } from './hostile/order.js';
import { storms } from './hostile/storms.js';
import { wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';

/** Permitted growth of used bytes between the start and the end: caches fill, but responses must not be retained. */
const maxGrowth = 8_000_000;

const { values } = parseArgs({
  options: {
    /** Mutated documents. */
    answers: { type: 'string', default: '100000' },
    /** Decides all of them. Default: random. */
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    /** Runs only the round with this number. */
    only: { type: 'string' },
  },
});
const wanted = wholeNumber('answers', values.answers, 1);
const seed = wholeNumber('seed', values.seed, 0);
const only = values.only === undefined ? undefined : wholeNumber('only', values.only, 1);
console.log(`seed ${seed}`);

const began = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'sluice-hostile-'));
const server = await HostileServer.start();
const child = new HostileChild({ url: server.url, folder });
const campaign = new Campaign(seed, await validRows(), child, server);
const progress = setInterval(() => console.error(`${campaign.answers} of ${wanted} answers`), 10_000);
let interrupted: NodeJS.Signals | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = signal;
    campaign.stop();
    // So that nothing waits for it any longer.
    void child[Symbol.asyncDispose]();
  });
const lacks: string[] = [];
try {
  await prove();
} finally {
  clearInterval(progress);
  await child[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
}
if (interrupted) process.exit(interrupted === 'SIGINT' ? 130 : 143);
if (lacks.length > 0) console.log(`\nNOT proven: ${lacks.join(' ')}`);
else
  console.log(
    `\nProven${only === undefined ? ': right rows or an error that says why, whatever was answered' : ', as far as this round goes'}.`,
  );
process.exitCode = lacks.length > 0 ? 1 : 0;

async function prove(): Promise<void> {
  if (only !== undefined) {
    tellOf(await campaign.runOnly(only));
    return;
  }
  tellOf(await corpus());
  // Modules and caches that are loaded once do not count as growth.
  const before = await heapOf();
  if (lacks.length === 0) tellOf(await campaign.run(wanted));
  tellOfEnds();
  if (campaign.isStopped || lacks.length > 0) return;
  await tellOfStorms();
  if (before) await tellOfMemory(before);
  if (child.lives > 1) lacks.push(`The child died ${child.lives - 1} times.`);
}

/** The handwritten cases. */
async function corpus(): Promise<Finding | undefined> {
  for await (const each of corpusCases()) {
    if (campaign.isStopped) return undefined;
    const { fault } = await campaign.judge(each);
    if (fault !== undefined) return { fault, case: each, round: 0 };
  }
  return undefined;
}

function tellOf(finding: Finding | undefined): void {
  if (!finding) return;
  const { fault, round } = finding;
  lacks.push('An answer was not dealt with as it should be.');
  console.log(`\n${fault}\n\n${shown(finding.case)}`);
  if (round > 0) console.log(`\nagain: npm run prove -- hostile --seed ${seed} --only ${round}`);
}

function shown({ texts, wires, first, ...rest }: HostileCase): string {
  return [
    JSON.stringify(rest),
    ...(first === undefined ? [] : [`first: ${shortened(first)}`]),
    ...texts.map(
      (text, at) => `${shortened(text)}${wires ? `\n  on the wire: ${shortened(JSON.stringify(wires[at]))}` : ''}`,
    ),
  ].join('\n');
}

function tellOfEnds(): void {
  const places = ['reading', 'socket', 'file', 'watch'];
  console.log(
    `\n${campaign.answers} hostile answers, ${((performance.now() - began) / 1_000).toFixed(0)} s: walks by what came of them\n`,
  );
  printTable(
    ['end', 'read', 'over a socket', 'into files', 'watched'],
    [...campaign.ends].sort().map(([end, counts]) => [end, ...places.map((place) => counts.get(place) ?? 0)]),
  );
}

async function tellOfStorms(): Promise<void> {
  const ends: (string | number)[][] = [];
  for await (const { name, packed, encoding, walks, fault } of storms(child, server)) {
    if (fault !== undefined) lacks.push(`${name}: ${fault}`);
    ends.push([name, encoding, Math.ceil(packed / 1_024), walks, fault === undefined ? 'refused' : 'NOT refused']);
  }
  console.log('\nBombs, each sent to 16 parallel walks\n');
  printTable(['unpacked', 'as', 'KiB', 'walks', ''], ends);
}

async function tellOfMemory(before: HeapReport): Promise<void> {
  const after = await heapOf();
  if (!after) return;
  console.log(`\nThe child's memory with ${childHeap} MB of heap, in MB\n`);
  printTable(
    ['in use at the beginning', 'at the end', 'at most behind a walk', 'all of the process at most'],
    [[megabytes(before.used), megabytes(after.used), megabytes(after.peak), megabytes(after.resident)]],
  );
  if (after.used - before.used > maxGrowth) lacks.push(`The heap grew from ${before.used} to ${after.used} bytes.`);
}

async function heapOf(): Promise<HeapReport | undefined> {
  const report = await child.ask({ kind: 'heap' });
  if (!('died' in report)) return report;
  lacks.push(report.died);
  return undefined;
}

async function validRows(): Promise<ValidRows> {
  await using sandbox = await startSandbox();
  return {
    streams: [...sandbox.streamRows()],
    aptos: Array.from({ length: 200 }, (_, index) => sandbox.holding(index)),
  };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
