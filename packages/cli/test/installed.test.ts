import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

// Most tests run the sources. What Node finds from the built files is for it to say.
test('as it is installed, each command finds all that it imports', async () => {
  const folder = new URL('../dist/commands/', import.meta.url);
  const commands = readdirSync(folder).filter((name) => name.endsWith('.js'));
  expect(commands.length).toBeGreaterThan(9);
  const imports = commands.map((name) => `await import(${JSON.stringify(new URL(name, folder).href)});`);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    ...['--input-type=module', '--eval'],
    imports.join('\n'),
  ]);
  expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '' });
});
