import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

test.each([
  ['a sandbox', /```js\n(.*?)```/s],
  ['a receiver', /## A receiver.*?```js\n(.*?)```/s],
])('the example of %s in the README runs, and prints what it says', async (_, shown) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const [, example = ''] = shown.exec(readme) ?? [];
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    const source = fileURLToPath(new URL('../src/index.js', import.meta.url));
    const file = join(temporaryFolder(), 'example.ts');
    await writeFile(file, example.replace("'@sluice/sandbox'", JSON.stringify(source)));
    await import(file);
    expect(log.mock.calls.map((words) => words.join(' '))).toEqual([
      /console\.log\(.*\); \/\/ (.*)/.exec(example)?.[1],
    ]);
  } finally {
    log.mockRestore();
  }
});
