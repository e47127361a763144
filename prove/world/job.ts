import type { AttemptRequest } from '../../packages/core/src/http/adapter/adapter.js';
import type { SimulatedDisk } from '../../packages/core/test/node/simulatedDisk.js';
import type { PagesInMemory } from './pagesInMemory.js';
import type { Process } from './processes.js';
import type { Scenario } from './scenario.js';
import type { Schedule } from './schedule.js';
import type { Answered, Service } from './service.js';

/** What the processes of a world do, one after another, until it is done. */
export interface RunningJob {
  /** Services that it talks to besides the API, by host. */
  readonly services?: ReadonlyMap<string, Service>;
  /** Lets the world live on, whoever runs. */
  readonly begin?: (schedule: Schedule) => void;
  /** Whether a request to the API asks for a page of the rows that are written. Default: all do. */
  readonly isPage?: (url: URL) => boolean;
  /** A run begins with this disk. */
  readonly onStart?: (disk: SimulatedDisk) => void;
  /** A process has got an answer of the API. */
  readonly onAnswer?: (url: URL, answer: Answered) => void;
  /** A process sends a request to the API. */
  readonly onSend?: (url: URL, request: AttemptRequest) => void;
  /** Requests of a process to these services that may be under way at once. */
  readonly mostUnderWay?: number;
  /** Does the work in one process; answers whether all of it is done. */
  readonly run: (process: Process, how: RunningHow) => Promise<boolean>;
  /** A transaction of the store was committed. */
  readonly onCommit?: (statements: readonly string[]) => void;
  /** What is wrong with a file that has its final name, as a process ends or is killed. */
  readonly wrongInPlace?: (disk: SimulatedDisk) => readonly string[];
  /** Whether an export is published. If its process was killed before it heard of that, the next one exports again. */
  readonly isPublished?: () => boolean;
  /** What was wrong with what readers of the store saw. */
  readonly wrongSoFar?: readonly string[];
  /** What is wrong with the outcome. */
  readonly judge: (disk: SimulatedDisk) => readonly string[];
}

export interface RunningHow {
  /** Nothing disturbs it any more. */
  readonly isLast: boolean;
  /** The pages of this process. */
  readonly pages: PagesInMemory;
}

export type JobOf<Kind> = Extract<Scenario['job'], { readonly kind: Kind }>;
