import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inScopeOf, onTestEnd } from '../scripts/testScope.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

describe('what a test creates', () => {
  let folder = '';

  test('exists while the test runs', () => {
    folder = temporaryFolder();
    expect(existsSync(folder)).toBe(true);
  });

  test('is gone when the next test starts', () => {
    expect(folder).not.toBe('');
    expect(existsSync(folder)).toBe(false);
  });

  test('after a time-out, while another test runs, is removed immediately, and the creator is told so', async (context) => {
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
