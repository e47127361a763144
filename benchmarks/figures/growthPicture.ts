import { chart, label, svg, type Chart, type Line, type Note, type Palette } from '../../scripts/chart.js';

/** What exports cost as they grow in three ways. Each series is in ascending order. */
export interface Growth {
  /** By the number of rows, one partition, without latency. */
  readonly rows: readonly GrowthPoint[];
  /** By the number of concurrent partitions. The first is 1. */
  readonly partitions: readonly GrowthPoint[];
  /** By the latency in ms, with a concurrency of 1 and with a higher one. */
  readonly latencies: readonly GrowthPoint[];
  readonly concurrentLatencies: readonly GrowthPoint[];
  /** The latency in ms at which partitions are measured. */
  readonly partitionLatency: number;
  /** The concurrency of `concurrentLatencies`. */
  readonly concurrency: number;
  /** The most that the largest number of partitions may take, in bytes. */
  readonly maxPeakRss: number;
}

/** One export. */
export interface GrowthPoint {
  /** The rows, partitions or ms of latency. */
  readonly of: number;
  readonly rowsPerSecond: number;
  /** In bytes. */
  readonly peakRss: number;
}

/** One column of the picture: two charts over the same axis. */
interface Column {
  readonly caption: string;
  readonly x: Chart['x'];
  readonly speed: readonly Line[];
  readonly memory: readonly Line[];
}

const width = 860;
const height = 400;
const left = 56;
const gap = 36;
const across = 236;
const speedRow = { top: 40, height: 160 };
const memoryRow = { top: 240, height: 100 };
const speedAxis = { from: 200, to: 200_000, ticks: [1_000, 10_000, 100_000], unit: compact, isLogarithmic: true };
const memoryAxis = { from: 0, to: 256, ticks: [0, 64, 128, 192, 256] };

/** Three columns of two charts: rows/s and peak RSS, by rows, partitions and latency. As SVG. */
export function growthPicture(growth: Growth, palette: Palette): string {
  const elements = columns(growth).flatMap(({ caption, x, speed, memory }, nth) => {
    const place = { left: left + nth * (across + gap), width: across };
    const isLabelled = nth === 0;
    return [
      chart(
        { title: 'rows/s', x: { ...x, isLabelled: false }, y: { ...speedAxis, isLabelled }, lines: speed },
        { ...place, ...speedRow },
        palette,
      ),
      chart(
        { title: 'peak RSS, MiB', x, y: { ...memoryAxis, isLabelled }, lines: memory },
        { ...place, ...memoryRow },
        palette,
      ),
      label(place.left + across / 2, height - 16, caption, palette.text),
    ];
  });
  return svg({ width, height, title: 'Exports as they grow: rows per second, and memory' }, palette, elements);
}

function columns(growth: Growth): readonly Column[] {
  const { rows, partitions, latencies, concurrentLatencies, partitionLatency, concurrency } = growth;
  const one = partitions[0];
  const most = partitions.at(-1);
  const proportional = partitions.map(({ of }) => ({ x: of, y: of * (one?.rowsPerSecond ?? NaN) }));
  const max = mebibytes(growth.maxPeakRss);
  const bound = [one, most].map((point) => ({ x: point?.of ?? NaN, y: max }));
  const quiet = { color: 'quiet', isDashed: true } as const;
  const second = { color: 'second', isDashed: true, marker: 'square' } as const;
  return [
    {
      caption: 'rows of one partition, no latency',
      x: logarithmic(rows),
      speed: [speedOf(rows)],
      memory: [memoryOf(rows)],
    },
    {
      caption: `concurrent partitions, ${partitionLatency} ms a page`,
      x: logarithmic(partitions),
      speed: [
        {
          points: proportional,
          ...quiet,
          notes: [{ at: -1, text: `${most?.of ?? ''} times one partition`, anchor: 'end' }],
        },
        speedOf(partitions, { isBelow: true }),
      ],
      memory: [
        { points: bound, ...quiet, notes: [{ at: 0, text: `bound: ${max}`, anchor: 'start' }] },
        memoryOf(partitions),
      ],
    },
    {
      caption: 'latency of a page, ms',
      x: { from: 0, to: latencies.at(-1)?.of ?? NaN, ticks: [0, 50, 100, 200] },
      speed: [
        { ...speedOf(latencies), notes: [lastOf(latencies, 'concurrency 1')] },
        {
          ...speedOf(concurrentLatencies),
          ...second,
          notes: [lastOf(concurrentLatencies, `concurrency ${concurrency}`)],
        },
      ],
      memory: [memoryOf(latencies), { ...memoryOf(concurrentLatencies, { isBelow: false }), ...second }],
    },
  ];
}

function logarithmic(points: readonly GrowthPoint[]): Chart['x'] {
  const ticks = points.map(({ of }) => of);
  return { from: Math.min(...ticks), to: Math.max(...ticks), ticks, unit: compact, isLogarithmic: true };
}

function speedOf(points: readonly GrowthPoint[], { isBelow = false } = {}): Line {
  return {
    points: points.map(({ of, rowsPerSecond }) => ({ x: of, y: rowsPerSecond })),
    marker: 'circle',
    notes: ends(points, ({ rowsPerSecond }) => compact(rowsPerSecond), isBelow),
  };
}

function memoryOf(points: readonly GrowthPoint[], { isBelow = true } = {}): Line {
  return {
    points: points.map(({ of, peakRss }) => ({ x: of, y: mebibytes(peakRss) })),
    marker: 'circle',
    notes: ends(points, ({ peakRss }) => mebibytes(peakRss).toFixed(0), isBelow),
  };
}

/** Notes at the first point and at the last one. */
function ends(points: readonly GrowthPoint[], textOf: (point: GrowthPoint) => string, isBelow: boolean): Note[] {
  const first = points.at(0);
  const last = points.at(-1);
  return [
    ...(first ? [{ at: 0, text: textOf(first), isBelow, anchor: 'start' as const }] : []),
    ...(last ? [{ at: -1, text: textOf(last), isBelow, anchor: 'end' as const }] : []),
  ];
}

/** The line's name, and its last value. */
function lastOf(points: readonly GrowthPoint[], name: string): Note {
  const text = `${name}: ${compact(points.at(-1)?.rowsPerSecond ?? NaN)}`;
  return { at: -1, text, isBelow: true, anchor: 'end' };
}

/** At most three digits: 1.23K, 44.1K, 10M. */
function compact(value: number): string {
  return value.toLocaleString('en', { notation: 'compact', maximumSignificantDigits: 3 });
}

function mebibytes(bytes: number): number {
  return bytes / 2 ** 20;
}
