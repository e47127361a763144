import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inScopeOf, onTestEnd } from '../scripts/testScope.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

describe('what a test makes', () => {
  let folder = '';

  test('is there as long as the test runs', () => {
    folder = temporaryFolder();
    expect(existsSync(folder)).toBe(true);
  });

  test('is gone when the next one begins', () => {
    expect(folder).not.toBe('');
    expect(existsSync(folder)).toBe(false);
  });

  test('after it timed out, while another test runs, is gone at once, and the test is told so', async (context) => {
    const cleared: string[] = [];
    let runsOn: Promise<void> = Promise.resolve();
    let goOn: () => void = () => undefined;
    const timedOut = new Promise<void>((resolve) => (goOn = resolve));
    await inScopeOf(context, () => {
      runsOn = timedOut.then(() => {
        onTestEnd(() => cleared.push('late'));
      });
      return Promise.resolve();
    });
    goOn();
    await expect(runsOn).rejects.toThrow(`The test "${context.task.name}" has ended, and may not begin anything.`);
    expect(cleared).toEqual(['late']);
  });
});
