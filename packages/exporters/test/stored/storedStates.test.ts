// States of earlier versions, one file for each. In a checkout of a revision, with a copy of this folder that
// imports what that revision has, `SLUICE_WRITE_STATES=REVISION npx vitest run packages/exporters/test/stored/storedStates.test.ts` writes the file.
import { isUtf8 } from 'node:buffer';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { SluiceError } from '@sluice/core';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { play, programs, type Cut, type Outcome, type Program } from './programs.js';

/** What a run left: its files, as text or else compressed and in base64. */
interface StoredState extends Pick<Outcome, 'committed' | 'sent'> {
  readonly files: Readonly<Record<string, string | { readonly gzip: string }>>;
}

type StoredStates = Readonly<Record<string, Readonly<Record<string, StoredState>>>>;

const pathOf = (revision: string): string => join(import.meta.dirname, `${revision}.json`);
const writtenAs = process.env['SLUICE_WRITE_STATES'];

/** `npm test` reads those of the oldest one, which differ most from today's. */
const revisions = [
  { revision: '62072b5d', tags: [] },
  { revision: '37130978', tags: ['slow'] },
];

/** States that a later version refuses, by design: their windows ended elsewhere. */
const refusals: Readonly<Record<string, string>> = {
  '62072b5d, windows of an increment, begun': 'The checkpoint was written with different settings (paging).',
  '62072b5d, windows of an increment, sealed': 'The checkpoint was written with different settings (paging).',
};

/** Rows that are sent under two ids: those of a spooled page that was not committed, since a run draws ids otherwise. */
const sentTwice: Readonly<Record<string, number>> = { '62072b5d, forwarded rows, begun': 2 };

async function leave(program: Program, cut: Cut): Promise<StoredState> {
  const folder = temporaryFolder();
  const isFirst = !program.isSecond || cut === 'never';
  const before = isFirst ? {} : (await play(program, folder, 1)).sent;
  const { committed, sent } = await play(program, folder, isFirst ? 1 : 2, cut);
  const files = namesIn(folder).map((name) => {
    const bytes = readFileSync(join(folder, name));
    return [name, isUtf8(bytes) ? bytes.toString() : { gzip: gzipSync(bytes).toString('base64') }] as const;
  });
  return { committed, sent: { ...before, ...sent }, files: Object.fromEntries(files) };
}

function restore({ files }: StoredState): string {
  const folder = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : gunzipSync(Buffer.from(content.gzip, 'base64')));
  }
  return folder;
}

function namesIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(folder, name)).isFile()).toSorted();
}

/** A run without an interruption. */
async function undisturbed(program: Program): Promise<Outcome & { readonly folder: string }> {
  const folder = temporaryFolder();
  const first = await play(program, folder, 1);
  if (!program.isSecond) return { folder, ...first };
  const second = await play(program, folder, 2);
  return { folder, ...second, sent: { ...first.sent, ...second.sent } };
}

if (writtenAs !== undefined) {
  test('states are written', async () => {
    const states: Record<string, Record<string, StoredState>> = {};
    for (const [kind, program] of Object.entries(programs))
      for (const [end, cut] of Object.entries(program.cuts)) {
        const state = await leave(program, cut).catch((error: unknown) => {
          // The revision has no such option.
          if (!SluiceError.is(error, 'config')) throw error;
        });
        if (state) (states[kind] ??= {})[end] = state;
      }
    writeFileSync(pathOf(writtenAs), `${JSON.stringify(states, undefined, 2)}\n`);
  });
} else
  for (const { revision, tags } of revisions) {
    const states = JSON.parse(readFileSync(pathOf(revision), 'utf8')) as StoredStates;
    test.concurrent.each(Object.entries(states))(
      `E4 what ${revision} left of an export is resumed, and no row of it is missing or repeated: %s`,
      { tags },
      async (kind, ends) => {
        const program = programs[kind];
        if (!program) throw new Error(`No program resumes ${kind}.`);
        const whole = await undisturbed(program);
        for (const [end, state] of Object.entries(ends)) {
          const name = `${revision}, ${kind}, ${end}`;
          const folder = restore(state);
          const resumed = play(program, folder, program.isSecond ? 2 : 1);
          const refusal = refusals[name];
          if (refusal === undefined) {
            expectResumed(await resumed, { name, program, state, end, folder, whole });
            expect(await program.read(folder), name).toEqual(await program.read(whole.folder));
          } else {
            await expect(resumed, name).rejects.toThrow(refusal);
            expect(namesIn(folder), name).toEqual(Object.keys(state.files));
          }
        }
      },
    );
  }

interface Resumption {
  readonly name: string;
  readonly program: Program;
  readonly end: string;
  readonly state: StoredState;
  readonly folder: string;
  readonly whole: Awaited<ReturnType<typeof undisturbed>>;
}

function expectResumed({ report, asked, sent }: Outcome, resumption: Resumption): void {
  const { name, program, end, state, folder, whole } = resumption;
  expect(namesIn(folder), name).toEqual(namesIn(whole.folder));
  // What a target had already stays, with its ids.
  for (const [file, content] of Object.entries(state.files))
    if (/^[^/]+\.(csv|jsonl)$/.test(file) && namesIn(folder).includes(file))
      expect(readFileSync(join(folder, file), 'utf8').startsWith(String(content)), name).toBe(true);
  // Only the last one was refused, and is sent again, unchanged.
  const again = Object.keys(sent).filter((id) => id in state.sent);
  expect(again, name).toHaveLength(Object.keys(state.sent).length > 0 && end === 'begun' ? 1 : 0);
  for (const id of again) expect(sent[id], name).toBe(state.sent[id]);
  const ids = Object.keys({ ...state.sent, ...sent });
  expect(ids.length - (sentTwice[name] ?? 0), name).toBe(Object.keys(whole.sent).length);
  const isNext = program.isSecond === true && end === 'finished';
  if (report) expect(report.resumedRows, name).toBe(isNext && !program.isWatch ? 0 : state.committed.rows);
  if (isNext || program.isWatch) expect(asked.toSorted(), name).toEqual(whole.asked.toSorted());
  else if (end === 'begun') {
    expect(asked.length, name).toBeLessThanOrEqual(whole.asked.length - state.committed.pages);
    expect(whole.asked, name).toEqual(expect.arrayContaining([...asked]));
  } else expect(asked, name).toEqual([]);
}
