import { type RowSamples, type SampleRow, sampleRows } from '@sluice/testing';
import { parquetReadObjects } from 'hyparquet';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

/** The rows of a Parquet file as hyparquet reads them. */
export async function readParquet(path: string): Promise<Record<string, unknown>[]> {
  return parquetRowsIn(readFileSync(path));
}

/** The same for the bytes of a file. */
export async function parquetRowsIn(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const compressors = { GZIP: (page: Uint8Array) => new Uint8Array(gunzipSync(page)) };
  return parquetReadObjects({ file: new Uint8Array(bytes).buffer, compressors });
}

/** The default rows of the suite, with the types that bring them back unchanged. */
export const typedRows: RowSamples<SampleRow> = {
  ...sampleRows,
  schema: {
    columns: ['id', 'name', 'amount', 'note'],
    types: { amount: 'number', note: 'json' },
    key: ({ id }) => id,
  },
};
