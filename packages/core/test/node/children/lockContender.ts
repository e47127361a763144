// Tries to lock the folder that its first argument names, on a kind of volume that the second may name, once for each message, and says what came of it; the next message releases.
import { once } from 'node:events';
import { LockError } from '../../../src/index.js';
import { fileState, nodeFileSystem } from '../../../src/node/index.js';

const [folder = '', kind] = process.argv.slice(2);
const volume = () => Promise.resolve({ id: '1', kind: 'other' as const });
const fileSystem = kind === 'other' ? { ...nodeFileSystem, volume } : nodeFileSystem;
process.send?.('ready');
for (;;) {
  await once(process, 'message');
  try {
    const release = await fileState(folder, { fileSystem }).lock(new AbortController().signal);
    process.send?.('owner');
    await once(process, 'message');
    await release();
  } catch (error) {
    process.send?.(error instanceof LockError ? error.message : `failed: ${String(error)}`);
    await once(process, 'message');
  }
  process.send?.('done');
}
