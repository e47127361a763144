import CliTable from 'cli-table3';

const noLines = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** Prints an aligned table to stdout; numbers are aligned to the right. */
export function printTable(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const table = new CliTable({
    head: [...head],
    chars: noLines,
    colAligns: head.map((_, column) => (typeof rows[0]?.[column] === 'number' ? 'right' : 'left')),
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  const lines = table.toString().split('\n');
  console.log(lines.map((line) => line.trimEnd()).join('\n'));
}
