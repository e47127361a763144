// @module-tag slow
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Random } from '../../../../test/kit/random.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { forkChild, type Child } from '../node/forkChild.js';
import { linesOf } from './parentsApi.js';
import { forgeOf } from './servedForge.js';

const parents = 500;

test.each([1, 8])(
  'A6 500 parents with 0 to 400 rows each, killed at random with a concurrency of %i: same bytes, and no logged parent twice',
  async (concurrency) => {
    const random = new Random(concurrency);
    const counts = Array.from({ length: parents }, (_, index) =>
      index % 100 === 50 ? { status: 404 } : Math.floor(random.skewed(0, 401)),
    );
    const forge = await forgeOf(counts);
    const whole = linesOf(forge);
    const folder = temporaryFolder();
    const path = join(folder, 'issues');
    const child = (): Child =>
      forkChild(new URL('children/exportForge.ts', import.meta.url), forge.baseUrl, path, String(concurrency));
    let reached: () => void = () => undefined;
    let limit = Infinity;
    forge.say = (_url, nth) => {
      if (nth >= limit) reached();
      return undefined;
    };
    // The next one gets ready meanwhile, since a process takes longer to begin than it is given to live.
    let next = child();
    let logged = 0;
    for (let kills = 0; forge.asked.length < 1.5 * parents; kills += 1) {
      const now = next;
      next = child();
      expect(await now.next()).toBe('ready');
      const served = new Promise<void>((resolve) => (reached = resolve));
      limit = forge.asked.length + random.int(1, 150);
      const from = forge.asked.length;
      now.tell('go');
      await served;
      await now.kill();
      const asked = forge.asked.slice(from).filter((each) => each.startsWith('/repos?'));
      const pages = asked.map((each) => Number(new URL(each, 'http://forge').searchParams.get('page') ?? 1));
      // The first page that it requests is the one after those that were logged.
      if (pages.length > 0) expect(pages[0]).toBeGreaterThan(logged);
      logged = loggedPages(path);
    }
    expect(await next.next()).toBe('ready');
    next.tell('go');
    expect(await next.next()).toBe('done');
    expect(readFileSync(path, 'utf8').split('\n').slice(0, -1)).toEqual(whole);
    expect(readdirSync(`${path}.sluice`)).toEqual(['checkpoint']);
  },
);

function loggedPages(path: string): number {
  try {
    return readFileSync(`${path}.sluice/partitions.log`, 'utf8').split('"parents":').length - 1;
  } catch {
    return 0;
  }
}
