import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';

test('the example of a receiver in the README runs, and prints what it says', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const [, example = ''] = /## A receiver.*?```js\n(.*?)```/s.exec(readme) ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-receiver-'));
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  try {
    const source = fileURLToPath(new URL('../src/index.js', import.meta.url));
    const file = join(folder, 'example.ts');
    await writeFile(file, example.replace("'@sluice/sandbox'", JSON.stringify(source)));
    await import(file);
    expect(log.mock.calls.map((words) => words.join(' '))).toEqual([
      /console\.log\(.*\); \/\/ (.*)/.exec(example)?.[1],
    ]);
  } finally {
    log.mockRestore();
    await rm(folder, { recursive: true });
  }
});
