import { gunzipSync } from 'node:zlib';
import type { Sink } from '@sluice/core';
import { fileSink, fileState, type FileSystem } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { parquet } from '@sluice/exporters/parquet';
import {
  type RowSamples,
  type SampleRow,
  sampleRows,
  type SuiteOptions,
  testSink,
  testStateStore,
} from '@sluice/testing';
import { cellFor, readCsv } from '../../packages/exporters/test/readCsv.js';
import { parquetRowsIn, typedRows } from '../../packages/exporters/test/readParquet.js';
import { textFormat } from '../../packages/core/test/node/textRows.js';
import type { Machine } from './suiteWorld.js';

/** What a suite gets: the options that let its checks run in worlds, and a machine for each fixture. */
export interface Worlds extends Required<SuiteOptions> {
  readonly machine: () => Machine;
}

export interface PlayedSuite {
  /** Registers the suite's checks. */
  readonly register: (worlds: Worlds) => void;
  /** What the tested part does not offer, in the words of the suite. No other check may be skipped. */
  readonly lacks: readonly string[];
}

const path = '/data/rows';
const noStart = 'a sink whose writer has a `start`';
const noEndless = 'a sink that supports endless sources';
const noNested = '`nested` of the rows';

const cells: RowSamples<SampleRow> = { ...sampleRows, readBack: (row) => Object.values(row).map(cellFor) };
const lines: RowSamples<string> = { row: (nth) => `row ${nth}` };

/** The suites that are played in worlds. One of your own is one more entry. */
export const suites: Readonly<Record<string, PlayedSuite>> = {
  'a CSV file': fileSuite(csv, cells, inText(recordsIn), [noStart]),
  'a compressed CSV file': fileSuite((at) => csv({ ...at, gzip: true }), cells, inText(recordsIn), [
    noStart,
    noEndless,
  ]),
  'a JSONL file': fileSuite(jsonl, sampleRows, inText(valuesIn), [noStart]),
  'a compressed JSONL file': fileSuite((at) => jsonl({ ...at, gzip: true }), sampleRows, inText(valuesIn), [
    noStart,
    noEndless,
  ]),
  'a file of lines': fileSuite(
    (at) => fileSink(textFormat, at),
    lines,
    inText((text) => linesIn(text).filter((line) => line !== 'rows')),
    [noStart, noNested],
  ),
  'a Parquet file': fileSuite(parquet, typedRows, parquetRowsIn, [noStart, noEndless]),
  'the state in a folder': {
    register: ({ machine, ...options }) => {
      testStateStore({
        ...options,
        factory: () => {
          const own = machine();
          const opened = () => {
            const { fileSystem, claims, clock } = own.start();
            return fileState('/data/state', { fileSystem, claims, clock });
          };
          return { store: opened(), another: opened, crash: () => own.crash() };
        },
      });
    },
    lacks: [],
  },
};

/** A sink that writes one file. */
function fileSuite<T>(
  sinkOf: (target: { readonly path: string; readonly fileSystem: FileSystem }) => Sink<T>,
  rows: RowSamples<T>,
  read: (bytes: Uint8Array) => readonly unknown[] | Promise<readonly unknown[]>,
  lacks: readonly string[],
): PlayedSuite {
  return {
    register: ({ machine, ...options }) => {
      testSink({
        ...options,
        rows,
        factory: () => {
          const own = machine();
          return {
            sink: () => sinkOf({ path, fileSystem: own.start().fileSystem }),
            rows: () => read(own.durable(path)),
            crash: () => own.crash(),
          };
        },
      });
    },
    lacks,
  };
}

/** Reads a file of text, compressed or not. */
function inText(read: (text: string) => readonly unknown[]): (bytes: Uint8Array) => readonly unknown[] {
  return (bytes) => read((bytes[0] === 0x1f ? gunzipSync(bytes) : Buffer.from(bytes)).toString());
}

function recordsIn(text: string): readonly unknown[] {
  return readCsv(text).slice(1);
}

function valuesIn(text: string): readonly unknown[] {
  return linesIn(text).map((line): unknown => JSON.parse(line));
}

function linesIn(text: string): string[] {
  return text.split('\n').slice(0, -1);
}
