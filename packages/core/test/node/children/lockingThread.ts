// Locks the folder that it is given, says what came of it, and releases it upon a message.
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { fileState } from '../../../src/node/index.js';

const outcome = await fileState(String(workerData))
  .lock(new AbortController().signal)
  .catch((error: unknown) => String(error));
parentPort?.postMessage(typeof outcome === 'string' ? outcome : 'owner');
if (parentPort) await once(parentPort, 'message');
if (typeof outcome !== 'string') await outcome();
