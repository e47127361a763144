import type { Night } from './catalog.js';
import type { ClusterScenario } from './cluster/clusterScenario.js';
import type { Scenario } from './scenario.js';
import type { AnyScenario } from './world.js';

/** The smallest scenario in which something still goes wrong, as far as taking one thing away at a time leads. */
export async function shrunk(
  scenario: AnyScenario,
  goesWrong: (smaller: AnyScenario) => Promise<boolean>,
  maxPlays = 300,
): Promise<AnyScenario> {
  let smallest = scenario;
  let plays = 0;
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const smaller of 'kind' in smallest ? smallerClusters(smallest) : smallerThan(smallest)) {
      if ((plays += 1) > maxPlays) return smallest;
      if (!(await goesWrong(smaller))) continue;
      smallest = smaller;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

/** The same for several machines. */
function* smallerClusters(scenario: ClusterScenario): Generator<ClusterScenario> {
  const { disturbances, redis, network, disk, api, limit } = scenario;
  if (disturbances.length > 1) yield { ...scenario, disturbances: [] };
  for (const at of disturbances.keys()) yield { ...scenario, disturbances: disturbances.toSpliced(at, 1) };
  for (const at of redis.events.keys())
    yield { ...scenario, redis: { ...redis, events: redis.events.toSpliced(at, 1) } };
  for (const name of ['lost', 'unanswered', 'slow', 'stale'] as const)
    if (redis[name] > 0) yield { ...scenario, redis: { ...redis, [name]: 0 } };
  if (disk.io > 0 || disk.full > 0) yield { ...scenario, disk: { io: 0, full: 0 } };
  if (scenario.clockSteps.length > 0) yield { ...scenario, clockSteps: [] };
  if (network.outages.length > 0) yield { ...scenario, network: { ...network, outages: [] } };
  for (const [name, share] of Object.entries(network))
    if (typeof share === 'number' && share > 0) yield { ...scenario, network: { ...network, [name]: 0 } };
  if (api.cursorTtl !== null) yield { ...scenario, api: { ...api, cursorTtl: null } };
  if (scenario.hasOperator) yield { ...scenario, hasOperator: false };
  for (const name of ['submitters', 'workers', 'partitions', 'pieces', 'ownersPerRequest'] as const)
    if (scenario[name] > 1) yield { ...scenario, [name]: scenario[name] - 1 };
  const { owners, holdings } = api;
  if (holdings > owners) yield { ...scenario, api: { ...api, holdings: Math.max(owners, Math.ceil(holdings / 2)) } };
  if (owners > scenario.pieces)
    yield { ...scenario, api: { ...api, owners: Math.max(scenario.pieces, Math.ceil(owners / 2)) } };
  const { burst, ...even } = limit;
  if (burst !== undefined) yield { ...scenario, limit: even };
}

/** What is left when one thing is taken away, the largest things first. */
function* smallerThan(scenario: Scenario): Generator<Scenario> {
  const { job, api, network, disk, store, kills, clockSteps, limit } = scenario;
  if (kills.length > 1) yield { ...scenario, kills: [] };
  for (const at of kills.keys()) yield { ...scenario, kills: kills.toSpliced(at, 1) };
  if (disk.io > 0 || disk.full > 0) yield { ...scenario, disk: { io: 0, full: 0 } };
  if (store) {
    for (const at of store.crashes.keys())
      yield { ...scenario, store: { ...store, crashes: store.crashes.toSpliced(at, 1) } };
    for (const [name, share] of Object.entries(store))
      if (name !== 'lockTimeout' && typeof share === 'number' && share > 0)
        yield { ...scenario, store: { ...store, [name]: 0 } };
    if (store.lockTimeout !== null) yield { ...scenario, store: { ...store, lockTimeout: null } };
    if (store.hasPooler) yield { ...scenario, store: { ...store, hasPooler: false } };
    if (store.breakLock) yield { ...scenario, store: { ...store, breakLock: false } };
  }
  if (clockSteps.length > 0) yield { ...scenario, clockSteps: [] };
  if (network.outages.length > 0) yield { ...scenario, network: { ...network, outages: [] } };
  for (const [name, share] of Object.entries(network))
    if (typeof share === 'number' && share > 0) yield { ...scenario, network: { ...network, [name]: 0 } };
  if (api.cursorTtl !== null) yield { ...scenario, api: { ...api, cursorTtl: null } };
  if (api.quota) {
    const { quota, ...free } = api;
    yield { ...scenario, api: free };
    if (quota.status !== 429) yield { ...scenario, api: { ...api, quota: { ...quota, status: 429 } } };
    if (quota.reset !== 'in') yield { ...scenario, api: { ...api, quota: { ...quota, reset: 'in' } } };
    if (quota.rounds !== 'up') yield { ...scenario, api: { ...api, quota: { ...quota, rounds: 'up' } } };
  }
  if (api.repeats) {
    const { repeats, ...straight } = api;
    yield { ...scenario, api: straight };
    if (repeats.from > 0) yield { ...scenario, api: { ...api, repeats: { ...repeats, from: 0 } } };
    if (repeats.until !== null) yield { ...scenario, api: { ...api, repeats: { ...repeats, until: null } } };
    if (repeats.share < 1) yield { ...scenario, api: { ...api, repeats: { ...repeats, share: 1 } } };
  }
  if (api.tags !== undefined) {
    const { tags, ...untagged } = api;
    yield { ...scenario, api: untagged };
    if (tags !== 'always') yield { ...scenario, api: { ...api, tags: 'always' } };
  }
  for (const name of ['owners', 'holdings', 'streams'] as const)
    if (api[name] > 1) yield { ...scenario, api: { ...api, [name]: Math.ceil(api[name] / 2) } };
  const { requests, per, concurrency } = limit;
  if (limit.burst !== undefined) yield { ...scenario, limit: { requests, per, concurrency } };
  if (job.kind === 'increment') {
    const { changes } = job;
    for (const at of changes.keys()) yield { ...scenario, job: { ...job, changes: changes.toSpliced(at, 1) } };
    if (job.renames) yield { ...scenario, job: { ...job, renames: false } };
    const { windows, hasKinds, ...straight } = job;
    if (windows) yield { ...scenario, job: { ...straight, ...(hasKinds && { hasKinds }) } };
    if (hasKinds) yield { ...scenario, job: { ...straight, ...(windows && { windows }) } };
    const { tables = [], concurrency = 1 } = job;
    for (const [at, { id, ...times }] of tables.entries()) {
      const others = changes.filter(({ table }) => table !== id);
      if (tables.length > 1) yield { ...scenario, job: { ...job, tables: tables.toSpliced(at, 1), changes: others } };
      if (Object.keys(times).length > 0)
        yield { ...scenario, job: { ...job, tables: tables.toSpliced(at, 1, { id }) } };
    }
    if (concurrency > 1) yield { ...scenario, job: { ...job, concurrency: concurrency - 1 } };
    return;
  }
  if (job.kind === 'children') {
    const { parents, concurrency } = job;
    for (const part of [parents.slice(0, parents.length / 2), parents.slice(parents.length / 2)])
      if (part.length < parents.length) yield { ...scenario, job: { ...job, parents: part } };
    for (const at of parents.keys()) yield { ...scenario, job: { ...job, parents: parents.toSpliced(at, 1) } };
    for (const [at, { changing = [], ...stable }] of parents.entries())
      for (const fewer of [[], ...changing.map((_, nth) => changing.toSpliced(nth, 1))]) {
        const parent = { ...stable, ...(fewer.length > 0 && { changing: fewer }) };
        if (fewer.length < changing.length)
          yield { ...scenario, job: { ...job, parents: parents.toSpliced(at, 1, parent) } };
      }
    for (const [at, { id, rows }] of parents.entries()) {
      if (Object.keys(parents[at] ?? {}).length === 2 && rows <= 1) continue;
      const plain = { id, rows: Math.min(rows, 1) };
      yield { ...scenario, job: { ...job, parents: parents.toSpliced(at, 1, plain) } };
    }
    if (concurrency > 1) yield { ...scenario, job: { ...job, concurrency: concurrency - 1 } };
    return;
  }
  if (job.kind === 'nights') {
    const { nights, shelves, rerun, concurrency } = job;
    for (const at of nights.keys()) yield { ...scenario, job: { ...job, nights: nights.toSpliced(at, 1) } };
    for (const [at, { changes, faults, failsAfter }] of nights.entries()) {
      const withNight = (night: Night): Scenario => ({ ...scenario, job: { ...job, nights: nights.with(at, night) } });
      if (failsAfter !== undefined) yield withNight({ changes, faults });
      const fails = failsAfter === undefined ? {} : { failsAfter };
      for (const nth of faults.keys()) yield withNight({ changes, faults: faults.toSpliced(nth, 1), ...fails });
      for (const nth of changes.keys()) yield withNight({ changes: changes.toSpliced(nth, 1), faults, ...fails });
    }
    for (const [at, count] of shelves.entries())
      if (count > 0) yield { ...scenario, job: { ...job, shelves: shelves.with(at, Math.floor(count / 2)) } };
    if (rerun) yield { ...scenario, job: { ...job, rerun: false } };
    if (concurrency > 1) yield { ...scenario, job: { ...job, concurrency: concurrency - 1 } };
    return;
  }
  if (job.kind === 'days') {
    const { changes, gaps, windows, write, ...rest } = job;
    for (const half of [changes.slice(0, changes.length / 2), changes.slice(changes.length / 2)])
      if (half.length < changes.length) yield { ...scenario, job: { ...job, changes: half } };
    for (const at of changes.keys()) yield { ...scenario, job: { ...job, changes: changes.toSpliced(at, 1) } };
    for (const at of gaps.keys()) yield { ...scenario, job: { ...job, gaps: gaps.toSpliced(at, 1) } };
    const plain = { ...rest, changes, gaps };
    if (windows !== undefined) yield { ...scenario, job: { ...plain, ...(write && { write }) } };
    if (write) yield { ...scenario, job: { ...plain, ...(windows !== undefined && { windows }) } };
    if (job.zone !== 0) yield { ...scenario, job: { ...job, zone: 0 } };
    return;
  }
  if (job.kind === 'table') {
    if (job.rival) yield { ...scenario, job: { ...job, rival: false } };
    for (const name of ['exports', 'concurrency', 'ownersPerRequest'] as const)
      if (job[name] > 1) yield { ...scenario, job: { ...job, [name]: job[name] - 1 } };
    return;
  }
  if (job.kind === 'lives') {
    for (const at of job.life.keys()) yield { ...scenario, job: { ...job, life: job.life.toSpliced(at, 1) } };
    if (job.hasOperator) yield { ...scenario, job: { ...job, hasOperator: false } };
  }
  if (job.kind === 'mirror' && job.rival) yield { ...scenario, job: { ...job, rival: false } };
  if (job.kind !== 'export') {
    const { changes } = job;
    for (const at of changes.keys()) yield { ...scenario, job: { ...job, changes: changes.toSpliced(at, 1) } };
    return;
  }
  if (job.rival) yield { ...scenario, job: { ...job, rival: false } };
  if (job.gzip) yield { ...scenario, job: { ...job, gzip: false } };
  for (const name of ['concurrency', 'ownersPerRequest'] as const)
    if (job[name] > 1) yield { ...scenario, job: { ...job, [name]: job[name] - 1 } };
}
