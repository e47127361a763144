import { childrenJob } from './childrenJob.js';
import { daysJob } from './daysJob.js';
import { exportJob } from './exportJob.js';
import { forwardJob } from './forwardJob.js';
import { incrementJob } from './incrementJob.js';
import type { RunningJob } from './job.js';
import { livesJob } from './livesJob.js';
import { mirrorJob } from './mirrorJob.js';
import { nightsJob } from './nightsJob.js';
import { pollJob } from './pollJob.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';
import type { Store } from './store.js';
import { tableJob } from './tableJob.js';
import { watchJob } from './watchJob.js';

/**
 * @param storeOf gives the store of the world, whose commits the job hears of
 * @param now the time in the world
 */
export function jobOf(scenario: Scenario, apis: Apis, storeOf: () => Store, now: () => number): RunningJob {
  const { job } = scenario;
  switch (job.kind) {
    case 'export':
      return exportJob(job, scenario, apis);
    case 'watch':
      return watchJob(job, scenario, apis);
    case 'poll':
      return pollJob(job, scenario, apis);
    case 'table':
      return tableJob(job, apis, storeOf());
    case 'mirror':
      return mirrorJob(job, apis, storeOf());
    case 'increment':
      return incrementJob(job, scenario, apis);
    case 'children':
      return childrenJob(job, scenario, apis);
    case 'nights':
      return nightsJob(job, now, storeOf);
    case 'days':
      return daysJob(job, now, storeOf);
    case 'lives':
      return livesJob(job, apis);
    case 'forward':
      return forwardJob(job, scenario, apis);
  }
}
