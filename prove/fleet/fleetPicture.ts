import type { FleetReport } from './fleet.js';

interface Palette {
  readonly ground: string;
  readonly text: string;
  readonly quiet: string;
  readonly grid: string;
  readonly line: string;
  readonly second: string;
}

/** For pages with a light and with a dark ground. Each pair of line and ground has a contrast of at least 4.5. */
export const palettes = {
  light: { ground: '#ffffff', text: '#1f2937', quiet: '#4b5563', grid: '#e5e7eb', line: '#1d4ed8', second: '#b45309' },
  dark: { ground: '#0d1117', text: '#e6edf3', quiet: '#9da7b3', grid: '#30363d', line: '#79b8ff', second: '#f0b866' },
} as const satisfies Readonly<Record<string, Palette>>;

interface Panel {
  readonly title: string;
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
  readonly unit: (value: number) => string;
  readonly lines: readonly { readonly of: (report: FleetReport) => number; readonly isSecond?: boolean }[];
}

const panels: readonly Panel[] = [
  {
    title: 'Share of the limit that is used',
    ...{ from: 0.9, to: 1, ticks: [0.9, 0.95, 1], unit: percent, lines: [{ of: ({ share }) => share }] },
  },
  {
    title: 'What a process gets, of its fair share: least and most',
    ...{ from: 0, to: 2, ticks: [0, 1, 2], unit: (value) => `${String(value)}×` },
    lines: [{ of: ({ least }) => least }, { of: ({ most }) => most, isSecond: true }],
  },
  {
    title: 'Calls of Redis for each request',
    ...{ from: 0, to: 3, ticks: [0, 1, 2, 3], unit: String, lines: [{ of: ({ callsPerStart }) => callsPerStart }] },
  },
];

const [width, left, right, top, bottom] = [640, 56, 24, 16, 40];
const panel = { height: 128, title: 22, gap: 14 };
const height = top + panels.length * (panel.height + panel.gap) + bottom;

/** Three small charts over the number of processes, on a logarithmic axis. As SVG. */
export function fleetPicture(reports: readonly FleetReport[], palette: Palette): string {
  const sizes = reports.map(({ workers }) => Math.log10(workers));
  const [first, last] = [Math.min(...sizes), Math.max(...sizes)];
  const x = (workers: number): number =>
    left + ((Math.log10(workers) - first) / (last - first)) * (width - left - right);
  const charts = panels.map((each, nth) => chart(each, top + nth * (panel.height + panel.gap), reports, x, palette));
  const ticks = reports
    .filter(({ workers }) => Number.isInteger(Math.log10(workers)))
    .map(({ workers }) => label(x(workers), height - bottom + 16, workers.toLocaleString('en'), palette.quiet));
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img">`,
    `<title>A shared limit with 1 to ${Math.max(...reports.map(({ workers }) => workers))} processes</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${palette.ground}"/>`,
    ...charts,
    ...ticks,
    label(width / 2, height - 8, 'processes that share one limit', palette.quiet),
    '</svg>',
  ].join('\n')}\n`;
}

function chart(
  { title, from, to, ticks, unit, lines }: Panel,
  above: number,
  reports: readonly FleetReport[],
  x: (workers: number) => number,
  palette: Palette,
): string {
  const [high, low] = [above + panel.title, above + panel.height];
  const y = (value: number): number =>
    low - ((Math.min(to, Math.max(from, value)) - from) / (to - from)) * (low - high);
  const grid = ticks.map(
    (tick) =>
      `<line x1="${left}" y1="${y(tick).toFixed(1)}" x2="${width - right}" y2="${y(tick).toFixed(1)}" stroke="${palette.grid}"/>` +
      label(left - 8, y(tick) + 4, unit(tick), palette.quiet, 'end'),
  );
  const drawn = lines.map(({ of, isSecond = false }) => {
    const color = isSecond ? palette.second : palette.line;
    const points = reports.map((report) => `${x(report.workers).toFixed(1)},${y(of(report)).toFixed(1)}`);
    // A dashed line is told apart without colours.
    const dash = isSecond ? ' stroke-dasharray="5 4"' : '';
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"${dash}/>`;
  });
  return [label(left, above + 12, title, palette.text, 'start'), ...grid, ...drawn].join('\n');
}

function percent(value: number): string {
  return `${String(Math.round(100 * value))} %`;
}

function label(x: number, y: number, what: string, color: string, anchor = 'middle'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${color}">${what}</text>`;
}
