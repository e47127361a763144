import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compare } from '../figures/compare.js';
import { figureOf } from '../figures/figure.js';
import type { Work } from './work.js';

const run = promisify(execFile);
const here = fileURLToPath(new URL('..', import.meta.url));
const sluice = fileURLToPath(new URL('../../packages/cli/dist/bin.js', import.meta.url));

/** How long people wait before anything happens, in processes of their own. */
export const starts: Work = async ({ rounds }) => {
  const node =
    (...args: string[]) =>
    () =>
      run(process.execPath, args, { cwd: here });
  const imported = (name: string) => node('--input-type=module', '--eval', `import '${name}';`);
  const times = await compare(
    {
      nothing: node('--eval', '0'),
      version: node(sluice, '--version'),
      axios: imported('axios'),
      core: imported('@sluice/core'),
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
      { work: "import '@sluice/core'", against: "import 'axios'", unit: 'x', goal: { atMost: 2 } },
      ratio('core', 'axios'),
    ),
  ];
};
