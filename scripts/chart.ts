/** The colours of a chart, as `#rrggbb`. */
export interface Palette {
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

/** One axis. Values beyond its ends are drawn at its ends. */
interface Axis {
  readonly from: number;
  readonly to: number;
  /** The values that have a label, and, on the vertical axis, a grid line. */
  readonly ticks: readonly number[];
  readonly unit?: (value: number) => string;
  /** Equal ratios are equally long. Default `false`. */
  readonly isLogarithmic?: boolean;
  /** Default `true`. */
  readonly isLabelled?: boolean;
}

/** One line of a chart. */
export interface Line {
  readonly points: readonly { readonly x: number; readonly y: number }[];
  /** Default `line`. */
  readonly color?: 'line' | 'second' | 'quiet';
  /** Tells a line apart without colours. Default `false`. */
  readonly isDashed?: boolean;
  /** Drawn at each point. Default: none. */
  readonly marker?: 'circle' | 'square';
  readonly notes?: readonly Note[];
}

/** A text at one point of a line. */
export interface Note {
  /** The point's index; -1 is the last one. */
  readonly at: number;
  readonly text: string;
  /** Default `false`: above the point. */
  readonly isBelow?: boolean;
  /** What of the text is at the point. Default `middle`. */
  readonly anchor?: Anchor;
}

type Anchor = 'start' | 'middle' | 'end';

/** Lines over one horizontal axis, with a title above. */
export interface Chart {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly lines: readonly Line[];
}

/** Where a chart is drawn, in pixels. The title and the labels are outside. */
export interface Frame {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** A whole picture, as SVG. */
export function svg(
  { width, height, title }: { readonly width: number; readonly height: number; readonly title: string },
  { ground }: Palette,
  elements: readonly string[],
): string {
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img">`,
    `<title>${title}</title>`,
    `<rect width="${width}" height="${height}" rx="8" fill="${ground}"/>`,
    ...elements,
    '</svg>',
  ].join('\n')}\n`;
}

/** The elements of one chart. */
export function chart({ title, x, y, lines }: Chart, frame: Frame, palette: Palette): string {
  const { left, top, width, height } = frame;
  const bottom = top + height;
  const across = (value: number): number => left + share(x, value) * width;
  const up = (value: number): number => bottom - share(y, value) * height;
  const shown = ({ unit = String, isLabelled = true }: Axis, tick: number): string => (isLabelled ? unit(tick) : '');
  const grid = y.ticks.map(
    (tick) =>
      `<line x1="${left}" y1="${up(tick).toFixed(1)}" x2="${left + width}" y2="${up(tick).toFixed(1)}" stroke="${palette.grid}"/>` +
      label(left - 8, up(tick) + 4, shown(y, tick), palette.quiet, 'end'),
  );
  const ticks = x.ticks.map((tick) => label(across(tick), bottom + 16, shown(x, tick), palette.quiet));
  const drawn = lines.map(({ points, color = 'line', isDashed = false, marker, notes = [] }) => {
    const stroke = palette[color];
    const at = points.map((point) => ({ x: across(point.x), y: up(point.y) }));
    const path = at.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(' ');
    const dash = isDashed ? ' stroke-dasharray="5 4"' : '';
    return [
      `<polyline points="${path}" fill="none" stroke="${stroke}" stroke-width="2"${dash}/>`,
      ...(marker === undefined ? [] : at.map((point) => markers[marker](point, stroke))),
      ...notes.map((note) => {
        const point = at.at(note.at) ?? { x: NaN, y: NaN };
        // Its outline covers the grid behind it.
        const outline = ` stroke="${palette.ground}" stroke-width="4" paint-order="stroke"`;
        return label(point.x, point.y + (note.isBelow === true ? 18 : -9), note.text, stroke, note.anchor, outline);
      }),
    ].join('\n');
  });
  const heading = label(left, top - 10, title, palette.text, 'start');
  return [heading, ...grid, ...ticks, ...drawn].filter((element) => element !== '').join('\n');
}

/** A text, with more attributes if it needs them. */
export function label(x: number, y: number, what: string, color: string, anchor: Anchor = 'middle', more = ''): string {
  if (what === '') return '';
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${color}"${more}>${what}</text>`;
}

/** Where a value is on an axis, from 0 to 1. */
export function share({ from, to, isLogarithmic = false }: Axis, value: number): number {
  const inside = Math.min(to, Math.max(from, value));
  return isLogarithmic ? Math.log(inside / from) / Math.log(to / from) : (inside - from) / (to - from);
}

const markers = {
  circle: ({ x, y }: { readonly x: number; readonly y: number }, color: string) =>
    `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="${color}"/>`,
  square: ({ x, y }: { readonly x: number; readonly y: number }, color: string) =>
    `<rect x="${(x - 3).toFixed(1)}" y="${(y - 3).toFixed(1)}" width="6" height="6" fill="${color}"/>`,
};
