import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { importFault } from '../../src/config/importFault.js';
import { temporaryFolder } from '../temporaryFolder.js';

/** What Node throws, which Vitest's own loader does not: it reads all of this. */
const syntax = (message: string, stack: string): Error => Object.assign(new SyntaxError(message), { stack });
const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

const why =
  'is written as a module (import, export), but its folder is CommonJS: its package.json does not say "type": "module".';

test.each<[string, (folder: string) => Error, string]>([
  [
    'a configuration in CommonJS',
    (folder) =>
      syntax("Unexpected token 'export'", `${folder}/sluice.config.js:1\nexport default {};\n^^^^^^\n\nSyntaxError`),
    `sluice.config.js ${why} Run "npm pkg set type=module" in FOLDER, or name the file sluice.config.mjs.`,
  ],
  [
    'what it imports',
    (folder) => syntax('Cannot use import statement outside a module', `${folder}/p.js:1\nimport a from 'a';`),
    `p.js, which sluice.config.js imports, ${why} Run "npm pkg set type=module" in FOLDER, or name the file p.mjs.`,
  ],
  [
    'what is wrong all the same',
    (folder) => syntax("Unexpected token 'export'", `${folder}/wrong.js:1\nexport export`),
    'wrong.js, which sluice.config.js imports, has a syntax error at line 1, column 8: Unexpected token, expected "{".',
  ],
  [
    'TypeScript that this Node reads from no JavaScript',
    (folder) => coded('ERR_UNKNOWN_FILE_EXTENSION', `Unknown file extension ".ts" for ${folder}/p.ts`),
    'p.ts, which sluice.config.js imports, is TypeScript, which this version of Node does not read from JavaScript. Rename what imports it to .ts, or name it in the configuration instead of importing it: plugins: ["./p.ts"].',
  ],
  [
    'TypeScript by the name that it has once it is compiled',
    (folder) =>
      coded('ERR_MODULE_NOT_FOUND', `Cannot find module '${folder}/q.js' imported from ${folder}/sluice.config.js`),
    'sluice.config.js imports q.js, which is not there. There is q.ts. Rename what imports it to .ts, or name it in the configuration instead of importing it: plugins: ["./q.ts"].',
  ],
])('%s', async (_, thrown, sentence) => {
  const folder = temporaryFolder();
  const files = {
    'sluice.config.js': 'export default {};',
    'p.js': "import a from 'a';",
    'wrong.js': 'export export',
    'q.ts': '',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { message } = await importFault(thrown(folder), {
    path: join(folder, 'sluice.config.js'),
    name: 'sluice.config.js',
  });
  expect(message.replaceAll(folder, 'FOLDER')).toBe(sentence);
});
