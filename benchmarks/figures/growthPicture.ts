/** The cost of an export of this many rows. */
export interface Growth {
  readonly rows: number;
  readonly rowsPerSecond: number;
  /** In bytes. */
  readonly peakRss: number;
}

const [width, height, left, top, bottom] = [640, 300, 64, 40, 44];
const plot = { width: width - 2 * left, height: height - top - bottom };

/** Two lines over the number of rows on a logarithmic axis: throughput, and memory. As SVG. */
export function growthPicture(measured: readonly Growth[]): string {
  const decades = measured.map(({ rows }) => Math.log10(rows));
  const [first, last] = [Math.min(...decades), Math.max(...decades)];
  const x = (rows: number): number => left + ((Math.log10(rows) - first) / (last - first)) * plot.width;
  const lines = [
    { name: 'thousand rows/s', color: '#2563eb', values: measured.map(({ rowsPerSecond }) => rowsPerSecond / 1000) },
    { name: 'peak RSS (MiB)', color: '#b45309', values: measured.map(({ peakRss }) => peakRss / 2 ** 20) },
  ];
  const drawn = lines.map(({ name, color, values }, nth) => {
    const max = Math.max(...values) * 1.25;
    const y = (value: number): number => top + plot.height * (1 - value / max);
    const at = values.map((value, index) => ({ value, x: x(measured[index]?.rows ?? 1), y: y(value) }));
    const points = at.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(' ');
    const labels = at.map(
      (point) =>
        `<circle cx="${point.x.toFixed(1)}" cy="${point.y.toFixed(1)}" r="3" fill="${color}"/>` +
        text(point.x, point.y - 8, point.value.toFixed(0), color),
    );
    return [
      text(left + nth * 160, 18, name, color, 'start'),
      `<polyline points="${points}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...labels,
    ].join('\n');
  });
  const axis = `<line x1="${left}" y1="${height - bottom}" x2="${width - left}" y2="${height - bottom}" stroke="#6b7280"/>`;
  const ticks = measured.map(({ rows }) => text(x(rows), height - bottom + 18, rows.toLocaleString('en'), '#374151'));
  const caption = text(width / 2, height - 6, 'rows of an export', '#374151');
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`;
  const ground = `<rect width="${width}" height="${height}" fill="#ffffff"/>`;
  return `${[head, ground, ...drawn, axis, ...ticks, caption, '</svg>'].join('\n')}\n`;
}

function text(x: number, y: number, what: string, color: string, anchor = 'middle'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${color}">${what}</text>`;
}
