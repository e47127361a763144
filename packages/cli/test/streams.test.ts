import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { main } from '../src/program.js';
import { settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testEnvironment, type TestEnvironment } from './testEnvironment.js';

describe('sluice streams list', () => {
  test('on a terminal is a table that fits, with what found no room said below', async () => {
    await using sandbox = await startSandbox({ streams: 120 });
    const { stdout, stderr } = await onTerminal(['streams', 'list'], sandbox, 80);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^id +status +tag +chains$/);
    expect(lines.slice(1).map((line) => line.slice(0, 36))).toEqual([...sandbox.streamRows()].map(({ id }) => id));
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(stderr.split('\r\u001b[K').at(-1)).toBe(
      '120 streams. There was no room for message and webhook; --format csv has every field.\n',
    );
  });

  test('on a wide terminal shows status, tag, chains, message and webhook', async () => {
    await using sandbox = await startSandbox({ streams: 20, nasty: 0 });
    const { stdout } = await onTerminal(['streams', 'list'], sandbox, 200);
    expect(stdout.split('\n')[0]).toMatch(/^id +status +tag +chains +message +webhook$/);
    const { id, status, tag, statusMessage, webhookUrl } = sandbox.stream(0);
    for (const text of [id, status, tag, statusMessage, webhookUrl]) expect(stdout.split('\n')[1]).toContain(text);
  });

  test('colours the status for those who want colours', async () => {
    await using sandbox = await startSandbox({ streams: 1, nasty: 0 });
    sandbox.setStream(0, { status: 'active' });
    const colored = await onTerminal(['streams', 'list'], sandbox, 120, {});
    expect(colored.stdout).toContain('\u001b[32mactive\u001b[39m');
    const plain = await onTerminal(['streams', 'list'], sandbox, 120, { NO_COLOR: '1' });
    expect(plain.stdout + plain.stderr.replaceAll('\u001b[K', '')).not.toContain('\u001b');
  });

  test('elsewhere is CSV with every field, or what --format says', async () => {
    await using sandbox = await startSandbox({ streams: 30, nasty: 0 });
    const env = settingsFor(sandbox);
    const [csv, jsonl, table] = await Promise.all([
      sluice(['streams', 'list'], { env }),
      sluice(['streams', 'list', '--format', 'jsonl', '--columns', 'id,status'], { env }),
      sluice(['streams', 'list', '--format', 'table', '--columns', 'status,id'], { env }),
    ]);
    const rows: Record<string, string>[] = parse(csv.stdout, { columns: true });
    expect(rows.map(({ id }) => id)).toEqual([...sandbox.streamRows()].map(({ id }) => id));
    expect(Object.keys(rows[0] ?? {})).toContain('webhookUrl');
    expect(jsonl.stdout.split('\n')[0]).toBe(
      JSON.stringify({ id: sandbox.stream(0).id, status: sandbox.stream(0).status }),
    );
    expect(table.stdout.split('\n')[0]).toMatch(/^status +id$/);
    expect(table.stdout).not.toContain('\u001b');
  });

  test('shows what a stream says, and lets it do nothing', async () => {
    await using sandbox = await startSandbox({ streams: 1 });
    sandbox.setStream(0, { tag: '\u001b[2J\u001b[31mgone\u0007', status: 'odd\nstatus' });
    const { stdout } = await onTerminal(['streams', 'list'], sandbox, 120);
    expect(stdout).toContain('␛[2J␛[31mgone␇');
    expect(stdout).toContain('odd␊status');
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
  });

  test('--quiet and --progress json hold for the table too', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const env = settingsFor(sandbox);
    expect((await sluice(['streams', 'list', '--format', 'table', '--quiet'], { env })).stderr).toBe('');
    const { stderr } = await sluice(['streams', 'list', '--format', 'table', '--progress', 'json'], { env });
    const events = stderr
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(events).toMatchObject([
      { event: 'start', format: 'table' },
      { event: 'report', rows: 3 },
    ]);
  });
});

describe('sluice streams export', () => {
  test('writes all streams, page by page', async () => {
    await using sandbox = await startSandbox({ streams: 250 });
    const cwd = temporaryFolder();
    const args = ['streams', 'export', '--to', 'streams.csv', '--page-size', '50', '--columns', 'id,status'];
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^250 rows in 5 pages -> streams\.csv/);
    expect(parse(await readFile(join(cwd, 'streams.csv'), 'utf8'))).toEqual([
      ['id', 'status'],
      ...[...sandbox.streamRows()].map(({ id, status }) => [id, status]),
    ]);
  });

  test('draws a bar on a terminal, since the API says how many streams there are', async () => {
    await using sandbox = await startSandbox({ streams: 400, latency: 60 });
    const args = ['streams', 'export', '--to', join(temporaryFolder(), 'streams.jsonl'), '--rate', 'unlimited'];
    const { stderr } = await onTerminal(args, sandbox, 80);
    expect(stderr).toMatch(/█+░+ +\d+ % +[123]00 rows/);
    expect(stderr).toMatch(/400 rows in 4 pages -> \S+streams\.jsonl \([^)]+\)\n$/);
  });
});

/** Runs a command in this process, on terminals of a width. */
async function onTerminal(
  args: readonly string[],
  sandbox: Sandbox,
  columns: number,
  variables: Readonly<Record<string, string>> = { NO_COLOR: '1' },
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const environment: TestEnvironment = testEnvironment({
    variables: { ...settingsFor(sandbox), ...variables },
    columns,
  });
  expect(await main(args, environment)).toBe(0);
  return { stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}
