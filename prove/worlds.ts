// Proves the promises about order in simulated worlds: production code with a simulated network, disk, clock and API, killed and
// disturbed as a seed says.
//
//   npm run prove -- worlds --minutes 5 --seed 7
//   npm run prove -- worlds --only cluster                        those of several machines
//   npm run prove -- worlds --only nights                         of a catalog whose pages are wrong; days: of an account with its own days; lives: of a forward whose state is restored, copied and lost
//   npm run prove -- worlds --seed 7 --trace                      one world, event by event
//   npm run prove -- worlds --replay reports/worlds/7.json --trace  the same for a world that was found
import { fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { refuse, wholeNumber } from './terminal/options.js';
import { printTable } from './terminal/printTable.js';
import { simulatePlatform } from './world/platform.js';
import type { Played } from './world/played.js';
import type { Found, Tally, WorldMessage } from './world/playSeeds.js';
import type { AnyScenario, WorldKind } from './world/world.js';

const { values } = parseArgs({
  options: {
    /** Only worlds of one machine (`single`), of those only ones whose listing is odd (`nights`, `days`) or whose state is restored (`lives`), or of several (`cluster`). */
    only: { type: 'string' },
    /** How long new worlds are played. */
    minutes: { type: 'string', default: '5' },
    /** The first world's. Default: another one each time. */
    seed: { type: 'string', default: String(randomInt(1_000_000_000)) },
    /** Plays one world, and prints all that happens in it. */
    trace: { type: 'boolean', default: false },
    /** A file with the world to be played. */
    replay: { type: 'string' },
    /** Ends with the first world that breaks a promise, and leaves it as large as it is. */
    first: { type: 'boolean', default: false },
    /** Plays the worlds that were found before. */
    corpus: { type: 'boolean', default: false },
    /** Plays the conformance suites of sinks and state stores, each check in so many worlds. */
    suites: { type: 'string' },
    /** Plays new worlds for the process that watches it. */
    child: { type: 'boolean', default: false },
  },
});
const seed = wholeNumber('seed', values.seed, 0);
const seconds = /^\d+(\.\d+)?$/.test(values.minutes)
  ? Number(values.minutes) * 60
  : refuse('--minutes takes a number.');
const kind = kindOf(values.only);
const [, script = ''] = process.argv;
const found = join('reports', 'worlds');
/** Ms in which a world comes to its end by far, on a machine that is busy. */
const hang = 120_000;
const corpus = join(import.meta.dirname, 'world', 'corpus');

if (values.child) await playForParent();
else if (values.suites !== undefined)
  process.exitCode = (await conformance(wholeNumber('suites', values.suites, 1))) ? 0 : 1;
else if (values.corpus) process.exitCode = (await replayCorpus()) ? 0 : 1;
else if (values.trace || values.replay !== undefined) process.exitCode = (await replayOne()) ? 0 : 1;
else process.exitCode = (await campaign()) ? 0 : 1;

/**
 * Plays new worlds in a process of their own, which is watched: a loop of promises that never waits can only be ended from
 * outside. Answers whether nothing was found.
 */
async function campaign(): Promise<boolean> {
  console.log(`Worlds from seed ${seed} on, for ${seconds} s.`);
  const total = { worlds: 0, kills: 0, failures: 0, requests: 0, events: 0, duration: 0 };
  const finds: Found[] = [];
  let playing = seed;
  let began = performance.now();
  const options = [...(values.first ? ['--first'] : []), ...(kind ? ['--only', kind] : [])];
  const child = fork(script, ['--child', '--seed', String(seed), '--minutes', values.minutes, ...options], {
    // Nearly all that a world makes is garbage when it ends.
    execArgv: [...process.execArgv, '--max-semi-space-size=64'],
  });
  const watchdog = setTimeout(() => child.kill('SIGKILL'), hang);
  child.on('message', (message: WorldMessage | Found) => {
    watchdog.refresh();
    if ('begins' in message) {
      playing = message.begins;
      if (total.worlds === 0) began = performance.now();
    } else if ('violations' in message) finds.push(message);
    else add(total, message);
  });
  const ended = await new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('exit', (code, signal) => {
      resolve(code ?? signal);
    }),
  );
  clearTimeout(watchdog);
  const minutes = (performance.now() - began) / 60_000;
  printTable(
    ['worlds', 'a minute', 'kills', 'failed runs', 'requests', 'events', 'simulated h'],
    [
      [
        total.worlds,
        Math.round(total.worlds / minutes),
        total.kills,
        total.failures,
        total.requests,
        total.events,
        (total.duration / 3_600_000).toFixed(1),
      ],
    ],
  );
  for (const find of finds) tellOf(find);
  if (ended !== 0) console.log(`The world of seed ${playing} never waits, or ended its process (${ended}).`);
  if (finds.length > 0 || ended !== 0) return false;
  console.log('Proven: no world broke a promise.');
  return true;
}

/** What the process of the worlds does. */
async function playForParent(): Promise<void> {
  const platform = simulatePlatform();
  const { playSeeds } = await import('./world/playSeeds.js');
  const send = (message: object): void => void process.send?.(message);
  await playSeeds({
    from: seed,
    seconds,
    kind,
    endsWithFirst: values.first,
    platform,
    onWorld: send,
    onFound: send,
  });
  process.disconnect();
}

function add(total: Tally & { worlds: number }, { kills, failures, requests, events, duration }: Tally): void {
  Object.assign(total, {
    worlds: total.worlds + 1,
    kills: total.kills + kills,
    failures: total.failures + failures,
    requests: total.requests + requests,
    events: total.events + events,
    duration: total.duration + duration,
  });
}

function tellOf({ seed: of, scenario, violations }: Found): void {
  mkdirSync(found, { recursive: true });
  const file = join(found, `${of}.json`);
  writeFileSync(file, `${JSON.stringify(scenario, null, 2)}\n`);
  console.log(`\nSeed ${of}, says: ${violations[0] ?? ''}`);
  console.log(`Again, event by event: npm run prove -- worlds --replay ${file} --trace`);
}

async function replayOne(): Promise<boolean> {
  const { playWorld, worldOf, platform } = await world();
  const scenario = values.replay === undefined ? worldOf(seed, kind) : scenarioIn(values.replay);
  const played = await playWorld(scenario, platform, { keepTrace: values.trace });
  tellTrace(played);
  return tellViolations(`seed ${scenario.seed}`, played);
}

async function replayCorpus(): Promise<boolean> {
  const { playWorld, platform } = await world();
  let isProven = true;
  const files = readdirSync(corpus).sort();
  for (const file of files)
    isProven = tellViolations(file, await playWorld(scenarioIn(join(corpus, file)), platform)) && isProven;
  console.log(`Worlds of the corpus: ${files.length}.`);
  return isProven;
}

async function conformance(worlds: number): Promise<boolean> {
  const platform = simulatePlatform();
  const { playSuites } = await import('./world/playSuites.js');
  const { checks, wrong } = await playSuites(seed, worlds, platform);
  for (const each of wrong) console.log(each);
  console.log(`${checks} checks, each in ${worlds} worlds from seed ${seed} on: ${wrong.length} wrong.`);
  return wrong.length === 0;
}

/** The simulation has to be there before the code that it runs. */
async function world() {
  const platform = simulatePlatform();
  const { playWorld, worldOf } = await import('./world/world.js');
  return { playWorld, worldOf, platform };
}

function scenarioIn(file: string): AnyScenario {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function kindOf(name: string | undefined): WorldKind | undefined {
  if (
    name === undefined ||
    name === 'single' ||
    name === 'nights' ||
    name === 'days' ||
    name === 'lives' ||
    name === 'cluster'
  )
    return name;
  return refuse('--only takes single, nights, days, lives or cluster.');
}

function tellTrace({ trace, digest }: Played): void {
  if (!trace) return;
  printTable(
    ['ms', 'process', 'event'],
    trace.map(({ at, process: of, event }) => [Number(at.toFixed(2)), of, event]),
  );
  console.log(`Trace ${digest}.`);
}

function tellViolations(name: string, { violations }: Played): boolean {
  for (const violation of violations) console.log(`${name}: ${violation}`);
  if (violations.length === 0 && !values.corpus) console.log('No promise was broken.');
  return violations.length === 0;
}
