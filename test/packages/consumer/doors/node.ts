// What a program for Node exports: state, files, guards, and sinks.
import type { Change } from '@sluice/core';
import { healthLevel, healthText, RunJudge, causeOf, statusHue, statusTone } from '@sluice/core/health';
import {
  addressGuard,
  AppendFile,
  decodeFilePosition,
  fileSink,
  fileState,
  nodeFileSystem,
  PartFile,
  readLines,
  streamSink,
  withFile,
} from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { webhook } from '@sluice/exporters/webhook';
import { createSender } from '@sluice/core/kit';

export const judge = new RunJudge();
export const level = { healthLevel, healthText, causeOf, statusHue, statusTone };

export const state = fileState('state');
export const { holder } = state;
export const guard = addressGuard({ allow: ['127.0.0.1'] });
export const guardedSender = createSender({ url: 'https://tea.example', guard });
const format = { name: 'lines', identity: null, encoder: () => ({ header: '', encode: () => '' }) };
export const file = fileSink(format, { path: 'tea.txt' });
export const openFile = file.open;
export const stream = streamSink(format, process.stdout);
export const part = new PartFile(nodeFileSystem, 'tea.txt', 'fail');
export const parts = PartFile.at(nodeFileSystem, 'tea.txt', 'fail');
export const position = decodeFilePosition({ bytes: 0, crc32: 0 });
export const lines = () => withFile(nodeFileSystem, 'tea.txt', async (opened) => [readLines(opened, 'tea.txt')]);
export const openAppending = AppendFile;
export const exported = { csv: csv({ path: 'tea.csv' }), jsonl: jsonl({ path: 'tea.jsonl' }) };
export const forwarded = webhook<Change<object>>({ url: 'https://tea.example', secret: false });
