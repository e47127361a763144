import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Change, Sink } from '@sluice/core';
import type { FileSystem } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { webhook } from '@sluice/exporters/webhook';
import { startReceiver } from '@sluice/sandbox';
import type { Row } from '../../packages/core/test/rows/watch/listing.js';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** The target of changes while the process that writes them is killed again and again. */
export interface KillTarget {
  readonly name: string;
  /** Whether a change may arrive again after a kill; if so, unchanged. */
  readonly mayRepeat: boolean;
  /** In the proving process: prepares the target; `path` is where it may write a file. */
  readonly open: (path: string) => Promise<OpenTarget>;
  /** In the process that is killed. */
  readonly sink: (address: string, fileSystem: FileSystem) => Sink<Change<Row>>;
}

/** A target that exists as long as the rounds last. */
export interface OpenTarget {
  readonly address: string;
  /** Complete arrivals, in order: after a kill, some of them may not be acknowledged. */
  readonly arrived: () => Promise<readonly Change<Row>[]>;
  readonly close: () => Promise<void>;
}

/** A JSON Lines file: each change exactly once. */
const jsonLines: KillTarget = {
  name: 'JSONL',
  mayRepeat: false,
  open: async (path) => ({ address: path, arrived: () => changesInFile(path), close: async () => undefined }),
  sink: (path, fileSystem) => jsonl<Change<Row>>({ path, fileSystem }),
};

/** A service that fails a fifth of the requests: each change at least once, and always unchanged. */
const receiver: KillTarget = {
  name: 'receiver',
  mayRepeat: true,
  async open() {
    const service = await startReceiver({ secrets: [secret], failures: { share: 0.2, max: 2 } });
    return {
      address: service.url,
      arrived() {
        assert.equal(service.counts.differing, 0, 'A change arrived with another text than before');
        return Promise.resolve(Array.from(service.accepted.values(), ({ body }) => changeIn(body)));
      },
      close: () => service.close(),
    };
  },
  sink: (url) => webhook<Change<Row>>({ url, secret, allowAddresses: ['127.0.0.1'], retry: { baseDelay: 2 } }),
};

/** All targets: each runs through all rounds. */
export const killTargets: readonly KillTarget[] = [jsonLines, receiver];

function changeIn(envelope: string): Change<Row> {
  const { data }: { data: Change<Row> } = JSON.parse(envelope);
  return data;
}

async function changesInFile(path: string): Promise<readonly Change<Row>[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  // The last line may be torn: the next run truncates it.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): Change<Row> => JSON.parse(line));
}
