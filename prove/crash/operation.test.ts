import { expect, test } from 'vitest';
import { fileRole, phaseOf, type FileRole, type Stage } from './operation.js';
import type { Phase } from './phases.js';

test.each<[string, FileRole]>([
  ['/a/b.csv', 'target'],
  ['/a/b.csv.part', 'part'],
  ['/a', 'folder'],
  ['/a/b.csv.sluice', 'state'],
  ['/a/b.csv.sluice/lock-1f', 'lock'],
  ['/a/b.csv.sluice/sluice-0b5d0f0e-8a52-4f6e-9b1c-2f1f6f7a1c11-new-lock-1f', 'lock'],
  ['/a/b.csv.sluice/checkpoint', 'checkpoint'],
  ['/a/b.csv.sluice/sluice-0b5d0f0e-8a52-4f6e-9b1c-2f1f6f7a1c11-new-checkpoint', 'checkpoint'],
  ['/a/b.csv.sluice/rows-3', 'segment'],
  ['/a/b.csv.sluice/rows-waiting-12', 'segment'],
])('%s is the %s of an export to /a/b.csv', (path, role) => {
  expect(fileRole(path, '/a/b.csv')).toBe(role);
});

test.each<[Stage, string, FileRole, Phase]>([
  ['beginning', 'rename', 'lock', 'setting up'],
  ['beginning', 'write', 'checkpoint', 'setting up'],
  ['opening anew', 'open', 'part', 'setting up'],
  ['going on', 'truncate', 'part', 'going on'],
  ['going on', 'unlink', 'segment', 'going on'],
  ['moving', 'write', 'part', 'writing rows'],
  ['moving', 'write', 'segment', 'writing segments'],
  ['moving', 'makeFolder', 'state', 'writing segments'],
  ['moving', 'rename', 'checkpoint', 'saving the checkpoint'],
  ['moving', 'syncFolder', 'state', 'saving the checkpoint'],
  ['flushing', 'sync', 'part', 'syncing rows'],
  ['flushing', 'write', 'segment', 'syncing rows'],
  ['sealing', 'sync', 'part', 'sealing'],
  ['sealing', 'rename', 'checkpoint', 'sealing'],
  ['going on sealed', 'unlink', 'part', 'putting in place'],
  ['closing', 'link', 'part', 'putting in place'],
  ['closing', 'syncFolder', 'folder', 'putting in place'],
  ['closing', 'unlink', 'segment', 'clearing away'],
  ['closed', 'unlink', 'checkpoint', 'clearing away'],
  ['closed', 'removeFolder', 'state', 'clearing away'],
])('%s, %s of the %s is %s', (stage, call, file, phase) => {
  expect(phaseOf({ stage, call, file })).toBe(phase);
});
