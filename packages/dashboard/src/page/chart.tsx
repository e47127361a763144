import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { SeriesView } from '../snapshot.js';

export interface Line {
  readonly label: string;
  /** `null` where nothing was known. */
  readonly values: readonly (number | null)[];
  /** The name of a CSS variable. */
  readonly color: string;
  readonly isFilled?: boolean;
  /** Bars: between two counts there is nothing. */
  readonly isCount?: boolean;
}

interface ChartProps {
  readonly series: SeriesView;
  readonly lines: readonly Line[];
  /** A level across the chart, e.g. a limit. */
  readonly level?: number | null;
  readonly height: number;
  /** What it shows, for those who do not see it. */
  readonly label: string;
}

const dark = matchMedia('(prefers-color-scheme: dark)');

/** A chart whose size does not depend on its data. */
export function Chart({ series, lines, level = null, height, label }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = alignData(series, lines, level);
  const newest = useRef(data);
  newest.current = data;
  const shape = `${lines.map(({ label: name }) => name).join()}|${level !== null}|${height}`;
  useEffect(() => {
    const parent = place.current;
    if (!parent) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(plotOptions(parent, lines, level, height), newest.current, parent);
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: parent.clientWidth, height }));
    resized.observe(parent);
    dark.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      dark.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
    // Only another shape needs another plot.
  }, [shape]);
  useEffect(() => plot.current?.setData(data));
  return <div class="chart" ref={place} role="img" aria-label={label} style={{ height: `${height}px` }} />;
}

function alignData({ step, until }: SeriesView, lines: readonly Line[], level: number | null): uPlot.AlignedData {
  const points = lines[0]?.values.length ?? 0;
  const times = Array.from({ length: points }, (_, nth) => until / 1_000 - (points - nth) * step);
  const levels = level === null ? [] : [times.map(() => level)];
  return [times, ...lines.map(({ values }) => [...values]), ...levels];
}

function plotOptions(parent: HTMLElement, lines: readonly Line[], level: number | null, height: number): uPlot.Options {
  const style = getComputedStyle(parent);
  const color = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  return {
    width: parent.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 24, 0, 0],
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.08)] } },
    axes: [
      { ...axis, size: 24, space: 70, values: (_, times) => times.map((at) => timeLabel(at)) },
      { ...axis, size: 46, space: 32, incrs: wholeSteps, values: (_, values) => values.map(shortNumber) },
    ],
    series: [
      {},
      ...lines.map(({ label, color: name, isFilled, isCount }): uPlot.Series => ({
        label,
        stroke: color(name),
        width: 1.5,
        // A line needs two; what is alone is a point.
        points: { size: 4, filter: (plot, nth) => findLone(plot.data[nth] ?? []) },
        ...(isFilled && { fill: color(`${name}-soft`) }),
        ...(isCount &&
          uPlot.paths.bars && { fill: color(name), paths: uPlot.paths.bars({ align: 1, size: [0.8, 24] }) }),
      })),
      ...(level === null ? [] : [{ label: 'limit', stroke: color('--warn'), width: 1.5, dash: [5, 4] }]),
    ],
  };
}

/** Rows and requests are whole. */
const wholeSteps = [1, 2, 5]
  .flatMap((step) => Array.from({ length: 12 }, (_, power) => step * 10 ** power))
  .sort((a, b) => a - b);

/** The values without a neighbour. */
function findLone(values: ArrayLike<number | null | undefined>): number[] {
  const isKnown = (nth: number): boolean => values[nth] !== null && values[nth] !== undefined;
  return Array.from(values, (_, nth) => nth).filter((nth) => isKnown(nth) && !isKnown(nth - 1) && !isKnown(nth + 1));
}

function timeLabel(at: number): string {
  return new Date(at * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

function shortNumber(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000}M`;
  return value >= 1_000 ? `${value / 1_000}k` : String(value);
}
