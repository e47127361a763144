// Watches the listing of a server and exports its changes, in a process that may be killed: `node killed.ts ORDER`. It
// reports that it is ready, and waits for a message to start.
import { once } from 'node:events';
import { exportTo, watch } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { servedListing } from '../../packages/core/test/rows/watch/servedListing.js';
import type { Moment } from '../crash/failPoint.js';
import { Life } from '../crash/life.js';
import { mortalFileSystem } from '../crash/mortalFileSystem.js';
import { stateBeside, type KillOrder } from './killOrder.js';
import { killTargets } from './killTargets.js';

/** The life of a process that dies at a given operation on the disk, whatever it is. */
class CountedLife extends Life {
  readonly #dies: KillOrder['dies'];
  #operations = 0;

  constructor(dies: KillOrder['dies']) {
    super(undefined);
    this.#dies = dies;
  }

  override momentOf(): Moment | undefined {
    this.#operations += 1;
    return this.#operations === this.#dies?.at ? this.#dies.moment : undefined;
  }
}

const { url, target: name, address, path, dies, polls }: KillOrder = JSON.parse(process.argv[2] ?? '');
const target = killTargets.find((each) => each.name === name)!;
const fileSystem = mortalFileSystem(path, new CountedLife(dies));
const state = fileState(stateBeside(path), { fileSystem });
const changes = watch(servedListing(url), { every: 4, state, ...(polls !== undefined && { polls }) });
process.send?.('ready');
await once(process, 'message');
await exportTo(changes, target.sink(address, fileSystem), { state }).run();
process.send?.('done');
process.disconnect();
