// Watches the listing of a server and exports its changes, in a process that may be killed: `node killed.ts ORDER`. It
// reports that it is ready, and waits for a message to start.
import { once } from 'node:events';
import { exportTo, watch } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { servedListing } from '../../packages/core/test/watch/servedListing.js';
import { mortalFileSystem } from '../crash/mortalFileSystem.js';
import { CountedLife } from './countedLife.js';
import { stateBeside, type KillOrder } from './killOrder.js';
import { killTargets } from './killTargets.js';

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
