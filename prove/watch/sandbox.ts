// The sandbox's streams, in a process of their own: `node sandbox.ts ROWS`. It prints its address. At each message it
// changes the status of one row in a hundred, and confirms that.
import { startSandbox } from '@sluice/sandbox';
import { changedShare, type SandboxAddress } from './sandboxProcess.js';

const rows = Number(process.argv[2]);
const sandbox = await startSandbox({ streams: rows });
let changed = 0;
process.on('message', () => {
  for (let left = Math.ceil(rows * changedShare); left > 0; left -= 1) {
    const index = changed % rows;
    changed += 1;
    sandbox.setStream(index, { status: sandbox.stream(index).status === 'active' ? 'paused' : 'active' });
  }
  process.send?.('changed');
});
process.once('disconnect', () => void sandbox.close());
process.send?.({ streamsUrl: sandbox.streamsUrl, apiKey: sandbox.apiKey } satisfies SandboxAddress);
