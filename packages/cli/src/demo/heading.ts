import type { Output } from '../terminal/output.js';

/** Columns that the demo's tables and charts are moved in by. */
export const indent = 2;

/** Begins a part of the demo. */
export async function heading(output: Output, title: string): Promise<void> {
  await output.write(`\n${output.colors.bold(title)}\n`);
}
