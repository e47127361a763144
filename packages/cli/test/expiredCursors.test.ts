import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { exportArgs, exportedIn, filesIn, interrupt } from './interruptedExport.js';
import { settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const lifetime = 60_000;

test(
  'E7 cursors that expired while an export was stopped are told with the way out, and only their part is walked anew',
  { tags: ['slow'] },
  async () => {
    let later = 0;
    const now = (): number => performance.now() + later;
    await using sandbox = await startSandbox({ holdings: 4000, owners: 4, latency: 5, cursorTtl: lifetime, now });
    const env = settingsFor(sandbox);
    const undisturbed = temporaryFolder();
    const args = exportArgs(sandbox, 'out.csv', '--owners-per-request', '1');
    expect((await sluice(args, { env, cwd: undisturbed })).code).toBe(0);
    const pages = sandbox.counts.requests;
    const pagesOfFirst = sandbox.requests.filter(({ query }) => query.includes(sandbox.owners[0] ?? '')).length;

    const cwd = temporaryFolder();
    // Into the second wallet, so that a finished part stands before the one whose cursor expires.
    await interrupt(sandbox, args, { cwd, after: pagesOfFirst + 8 });
    later = lifetime + 60_000;

    const checkpointIn = (folder: string) => filesIn(folder)[join('out.csv.sluice', 'checkpoint')];
    const checkpoint = checkpointIn(cwd);
    const refused = await sluice(args, { env, cwd });
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /\nsluice: aptos\.nfts, partition 2 of 4, can't continue: the API refused the cursor of page \d+ with 400 \("[^\n]*expired; start over without it[^\n]*"\): it may have expired\. Fetch this partition again with --on-expired restart-partition, or start over with --restart\. [\d,]+ rows committed\.\n$/,
      ),
    });
    expect(checkpointIn(cwd)).toBe(checkpoint);

    const before = sandbox.counts.requests;
    const { code, stderr } = await sluice([...args, '--on-expired', 'restart-partition'], { env, cwd });
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^Resuming after [^\n]+ of partition 2 of 4\.\nsluice: aptos\.nfts, partition 2 of 4, can't continue: the API refused the cursor of page \d+ with 400 \("[^\n]*expired; start over without it[^\n]*"\): it may have expired\. Its \d+ rows are removed, and the partition starts over\.\n4,000 rows in \d+ pages -> out\.csv[^\n]*\n$/,
      ),
    });
    expect(exportedIn(cwd)).toEqual(exportedIn(undisturbed));
    // One cursor is refused; then all parts but the first come, which stays as it is.
    expect(sandbox.counts.requests - before).toBe(1 + pages - pagesOfFirst);
  },
);

test('E7 on stdout there is nothing to take back', async () => {
  await using sandbox = await startSandbox({ holdings: 1000, cursorUses: 0 });
  const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-'];
  const { code, stderr } = await sluice(args, { env: settingsFor(sandbox) });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/ Both need a file \(--to FILE\); to stdout, run it again\.\n$/),
  });
});
