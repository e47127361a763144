import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Change, Sink } from '@sluice/core';
import type { FileSystem } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { webhook } from '@sluice/exporters/webhook';
import { startReceiver } from '@sluice/sandbox';
import type { Row } from '../../packages/core/test/watch/listing.js';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** Where changes go while the process that brings them is killed again and again. */
export interface KillTarget {
  readonly name: string;
  /** Whether a change may arrive again after a kill; if so, as it was. */
  readonly mayRepeat: boolean;
  /** In the process that proves: makes ready what there is to arrive at; `path` is where it may write a file. */
  readonly open: (path: string) => Promise<OpenTarget>;
  /** In the process that is killed. */
  readonly sink: (address: string, fileSystem: FileSystem) => Sink<Change<Row>>;
}

/** A target that is there for as long as the rounds go on. */
export interface OpenTarget {
  readonly address: string;
  /** What has arrived whole, in order: after a kill, some of it may not be known to have arrived. */
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

/** A service that fails a fifth of what it gets: each change at least once, and always as it was. */
const receiver: KillTarget = {
  name: 'receiver',
  mayRepeat: true,
  async open() {
    const service = await startReceiver({ secrets: [secret], failures: { share: 0.2, max: 2 } });
    return {
      address: service.url,
      arrived() {
        assert.equal(service.counts.differing, 0, 'A change arrived with another text than before');
        return Promise.resolve(service.order.map((id) => changeIn(service.accepted.get(id)?.body ?? '')));
      },
      close: () => service.close(),
    };
  },
  sink: (url) => webhook<Change<Row>>({ url, secret, allowAddresses: ['127.0.0.1'], retry: { baseDelay: 2 } }),
};

/** All that there are: each goes through all rounds. */
export const killTargets: readonly KillTarget[] = [jsonLines, receiver];

function changeIn(envelope: string): Change<Row> {
  const { data }: { data: Change<Row> } = JSON.parse(envelope);
  return data;
}

async function changesInFile(path: string): Promise<readonly Change<Row>[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  // The last line may be cut short: the next run cuts it off.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): Change<Row> => JSON.parse(line));
}
