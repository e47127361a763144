// Tries to lock the folder that its first argument names, once for each message, and says what came of it; the next message releases.
import { once } from 'node:events';
import { LockError } from '../../../src/index.js';
import { fileState } from '../../../src/node/index.js';

const [folder = ''] = process.argv.slice(2);
process.send?.('ready');
for (;;) {
  await once(process, 'message');
  try {
    const release = await fileState(folder).lock(new AbortController().signal);
    process.send?.('owner');
    await once(process, 'message');
    await release();
  } catch (error) {
    process.send?.(error instanceof LockError ? error.message : `failed: ${String(error)}`);
    await once(process, 'message');
  }
  process.send?.('done');
}
