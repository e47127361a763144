import type { Colors } from './colors.js';
import { visibleText } from './text.js';
import { cutToWidth, displayWidth } from './width.js';
import { formatNumber } from './format.js';

/** One bar. */
interface Bar {
  readonly label: string;
  /** At least 0. */
  readonly value: number;
}

const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;
const longestLabel = 28;
const longestBar = 40;

/** A horizontal bar chart. Each line has the label, a bar in proportion to the largest value, and the value. */
export function barChart(
  bars: readonly Bar[],
  { columns, colors, indent = 0 }: { readonly columns: number; readonly colors: Colors; readonly indent?: number },
): string {
  const labels = bars.map(({ label }) => visibleText(label));
  const values = bars.map(({ value }) => formatNumber(value));
  const labelWidth = Math.min(longestLabel, Math.max(0, ...labels.map(displayWidth)));
  const valueWidth = Math.max(0, ...values.map((value) => value.length));
  const barWidth = Math.max(1, Math.min(longestBar, columns - indent - labelWidth - valueWidth - 4));
  const largest = Math.max(1, ...bars.map(({ value }) => value));
  return bars
    .map(({ value }, at) => {
      const label = cutToWidth(labels[at] ?? '', labelWidth);
      const padding = ' '.repeat(labelWidth - displayWidth(label));
      const bar = drawBar((value / largest) * barWidth);
      return `${' '.repeat(indent)}${label}${padding}  ${colors.cyan(bar)}${' '.repeat(bar === '' ? 0 : 1)}${values[at] ?? ''}\n`;
    })
    .join('');
}

/** A bar of `length` columns, rounded to an eighth. */
function drawBar(length: number): string {
  const parts = Math.round(length * 8);
  return '█'.repeat(Math.floor(parts / 8)) + (eighths[parts % 8] ?? '');
}
