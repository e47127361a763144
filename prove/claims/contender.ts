// Locks a folder once for each message, however long that takes, and logs when it enters and leaves. Its arguments are its
// name and where the folders of all races are: see contenders.ts.
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LockError } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import type { ContenderMessage, ContenderTask } from './contenders.js';

const [name = '', base = ''] = process.argv.slice(2);

function tell(message: ContenderMessage): void {
  process.send?.(message);
}

async function compete({ folder, log, hold, breakLock }: ContenderTask): Promise<void> {
  const state = fileState(join(base, folder), { breakLock });
  const { signal } = new AbortController();
  const file = openSync(join(base, log), 'a');
  for (;;) {
    try {
      const release = await state.lock(signal);
      writeSync(file, `enter ${name}\n`);
      tell('inside');
      await delay(hold);
      writeSync(file, `leave ${name}\n`);
      await release();
      return closeSync(file);
    } catch (error) {
      if (!(error instanceof LockError)) throw error;
      await delay(1);
    }
  }
}

process.on('disconnect', () => process.exit());
process.on('message', (task: ContenderTask) => {
  compete(task).then(
    () => tell('done'),
    (error: unknown) => tell(`failed: ${String(error)}`),
  );
});
tell('ready');
