// npm run picture: draws the README's picture of the demo anew, from a run of it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { demoLines, pictures } from './demoPicture.js';
import { dark, drawn, light } from './terminalPicture.js';

const folder = mkdtempSync(join(tmpdir(), 'sluice-picture-'));
try {
  const lines = await demoLines(folder);
  writeFileSync(pictures.dark, drawn(lines, dark));
  writeFileSync(pictures.light, drawn(lines, light));
} finally {
  rmSync(folder, { recursive: true });
}
