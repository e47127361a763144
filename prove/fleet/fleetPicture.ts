import { chart, label, share, svg, type Palette } from '../../scripts/chart.js';
import type { FleetReport } from './fleet.js';

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
    from: 0.9,
    to: 1,
    ticks: [0.9, 0.95, 1],
    unit: percent,
    lines: [{ of: ({ share }) => share }],
  },
  {
    title: 'What a process gets, of its fair share: least and most',
    from: 0,
    to: 2,
    ticks: [0, 1, 2],
    unit: (value) => `${String(value)}×`,
    lines: [{ of: ({ least }) => least }, { of: ({ most }) => most, isSecond: true }],
  },
  {
    title: 'Calls of Redis for each request',
    from: 0,
    to: 3,
    ticks: [0, 1, 2, 3],
    unit: String,
    lines: [{ of: ({ callsPerStart }) => callsPerStart }],
  },
];

const width = 640;
const left = 56;
const right = 24;
const top = 16;
const bottom = 40;
const panel = { height: 128, title: 22, gap: 14 };
const height = top + panels.length * (panel.height + panel.gap) + bottom;

/** Three small charts over the number of processes, on a logarithmic axis. As SVG. */
export function fleetPicture(reports: readonly FleetReport[], palette: Palette): string {
  const sizes = reports.map(({ workers }) => workers);
  // Its labels are below the last chart only.
  const x = { from: Math.min(...sizes), to: Math.max(...sizes), ticks: [], isLogarithmic: true };
  const across = width - left - right;
  const charts = panels.map(({ title, lines, ...y }, nth) =>
    chart(
      {
        title,
        x,
        y,
        lines: lines.map(({ of, isSecond = false }) => ({
          points: reports.map((report) => ({ x: report.workers, y: of(report) })),
          ...(isSecond && { color: 'second', isDashed: true }),
        })),
      },
      {
        left,
        width: across,
        height: panel.height - panel.title,
        top: top + nth * (panel.height + panel.gap) + panel.title,
      },
      palette,
    ),
  );
  const ticks = sizes
    .filter((workers) => Number.isInteger(Math.log10(workers)))
    .map((workers) =>
      label(left + share(x, workers) * across, height - bottom + 16, workers.toLocaleString('en'), palette.quiet),
    );
  return svg({ width, height, title: `A shared limit with 1 to ${x.to} processes` }, palette, [
    ...charts,
    ...ticks,
    label(width / 2, height - 8, 'processes that share one limit', palette.quiet),
  ]);
}

function percent(value: number): string {
  return `${String(Math.round(100 * value))} %`;
}
