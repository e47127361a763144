// @module-tag slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { codeIn } from './shownCode.js';
import { run } from './run.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

const root = join(import.meta.dirname, '..');
const guide = readFileSync(join(root, 'docs/guides/platforms.md'), 'utf8');
const [shown = ''] = codeIn(guide, 'console');

/** Bundles a program as the guide says, but for the banner, and runs it. */
async function runBundle(banner: string): Promise<{ code: number | null; output: string }> {
  const folder = temporaryFolder();
  const outfile = join(folder, 'export.mjs');
  const entryPoints = [join(root, 'examples/exportHoldings.ts')];
  await build({
    entryPoints,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
    banner: { js: banner },
    logLevel: 'error',
  });
  return run([outfile], folder, { TMPDIR: folder });
}

describe('the guide platforms.md', () => {
  test('shows how to bundle for Node as an ES module', async () => {
    expect(shown).toContain('--bundle --platform=node --target=node20 --format=esm');
    const [, banner = ''] = /--banner:js="(.*)"/.exec(shown) ?? [];
    expect(await runBundle(banner)).toMatchObject({ code: 0, output: expect.stringContaining('5000 rows') });
  });

  test('shows a banner that is needed', async () => {
    const { code, output } = await runBundle('');
    expect(code).toBe(1);
    expect(output).toContain('Dynamic require of "util" is not supported');
  });
});
