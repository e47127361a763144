import { once } from 'node:events';
import { get } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startSandbox, type Fault } from '../src/index.js';
import { addressOf, ask } from './ask.js';
import { lastingResources } from './lastingResources.js';

describe('close()', () => {
  test('ends every open request and connection at once and leaves nothing behind', async () => {
    const faults: Fault[] = [{ kind: 'never' }, { kind: 'delay', ms: 600_000 }, { kind: 'slow-drip', every: 60_000 }];
    const sandbox = await startSandbox({ script: ({ nth }) => faults[nth - 1] });
    const silent = connect(sandbox.port, '127.0.0.1');
    await once(silent, 'connect');
    const requests = Array.from({ length: 3 }, () => {
      const headers = { 'X-API-Key': sandbox.apiKey };
      const request = get(addressOf(sandbox, 'streams'), { headers, agent: false });
      request.on('response', (answer) => answer.on('error', () => undefined).resume());
      return Promise.race([once(request, 'error'), once(request, 'close')]);
    });
    await sandbox.until(() => sandbox.counts.open === 3);

    await sandbox.close();
    await Promise.all([...requests, once(silent, 'close')]);
    expect(sandbox.counts).toMatchObject({ open: 0, aborted: 0 });
    expect(await lastingResources()).toEqual([]);
  });

  test('refuses new connections, rejects those who still wait, and may be called again', async () => {
    const sandbox = await startSandbox();
    const waiting = expect(sandbox.until(() => false)).rejects.toThrow('closed before');
    await Promise.all([sandbox.close(), sandbox.close(), waiting]);
    await sandbox.close();
    await expect(ask(sandbox, 'streams')).rejects.toThrow();
  });
});
