import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startSandbox } from '@sluice/sandbox';
import { compare } from '../figures/compare.js';
import { figureOf } from '../figures/figure.js';
import type { Work } from './work.js';

const run = promisify(execFile);
const here = fileURLToPath(new URL('..', import.meta.url));
const sluice = fileURLToPath(new URL('../../packages/cli/dist/bin.js', import.meta.url));
const plainScript = join(here, 'plainScript.js');

/** Rows of the smallest useful export. */
const rows = 10;

/** How long people wait before anything happens: complete processes, as people start them, with a warm server. */
export const starts: Work = async ({ rounds, folder }) => {
  await using sandbox = await startSandbox({ holdings: rows, owners: 1 });
  const { apiKey, aptosUrl } = sandbox;
  const [owner = ''] = sandbox.owners;
  // Certificates of the machine's own would cost each process some 30 ms, and so make all of them look alike.
  const plain = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };
  const env = { ...plain, SLUICE_API_KEY: apiKey, SLUICE_APTOS_URL: aptosUrl };
  const node =
    (...args: string[]) =>
    () =>
      run(process.execPath, args, { cwd: here, env });
  const imported = (name: string) => node('--input-type=module', '--eval', `import '${name}';`);
  const written = (name: string, start: (file: string) => () => Promise<unknown>) => async (): Promise<void> => {
    const file = join(folder, name);
    rmSync(file, { force: true });
    await start(file)();
    const lines = readFileSync(file, 'utf8').split('\r\n').length - 2;
    if (lines !== rows) throw new Error(`${name} has ${lines} rows, not ${rows}.`);
  };

  const times = await compare(
    {
      nothing: node('--eval', '0'),
      version: node(sluice, '--version'),
      axios: imported('axios'),
      core: imported('@sluice/core'),
      script: written('script.csv', (file) => node(plainScript, aptosUrl, owner, apiKey, file)),
      export: written('export.csv', (file) => node(sluice, 'nfts', 'export', '--owner', owner, '--to', file)),
    },
    2 * rounds,
  );
  const ratio = (one: string, other: string): number[] =>
    (times[one] ?? []).map((ms, round) => ms / (times[other]?.[round] ?? NaN));
  return [
    figureOf(
      { work: 'sluice --version', against: 'node -e 0', unit: 'x', goal: { atMost: 2.5 } },
      ratio('version', 'nothing'),
    ),
    figureOf(
      { work: "import '@sluice/core'", against: "import 'axios'", unit: 'x', goal: { atMost: 1.7 } },
      ratio('core', 'axios'),
    ),
    figureOf(
      {
        work: `sluice nfts export of ${rows} rows`,
        against: 'a plain script of axios',
        unit: 'x',
        goal: { atMost: 1.5 },
      },
      ratio('export', 'script'),
    ),
  ];
};
