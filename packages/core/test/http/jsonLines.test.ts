import { describe, expect, test } from 'vitest';
import { parseJsonLines } from '../../src/http/response/jsonLines.js';
import { openTransport } from './openTransport.js';
import { answer, begun, hangUp, startServer } from './scriptedServer.js';

const type = { 'content-type': 'application/x-ndjson' };

describe('A3 JSON Lines', () => {
  test.each<[string, readonly unknown[]]>([
    ['', []],
    ['\n\n', []],
    ['{"a":1}', [{ a: 1 }]],
    ['{"a":1}\n{"a":2}\n', [{ a: 1 }, { a: 2 }]],
    ['{"a":1}\r\n\r\n[2]\r\n', [{ a: 1 }, [2]]],
    ['{"a":"\u2028"}\n', [{ a: '\u2028' }]],
  ])('%j are %j', (text, documents) => {
    expect(parseJsonLines(text)).toEqual(documents);
  });

  test.each<[string, number, string]>([
    ['{"a":1}\n{"a":\n{"a":3}\n', 2, 'is not JSON'],
    ['\n\n{"a":1} {"a":2}\n', 3, 'is not JSON'],
    ['{"a":1}\n{"a":2}\n{"a":', 3, 'is cut off: it is the last one, and not JSON'],
    ['<html>', 1, 'is cut off: it is the last one, and not JSON'],
  ])('%j are an error that names line %i', (text, line, what) => {
    expect(() => parseJsonLines(text)).toThrow(expect.objectContaining({ line, what }));
  });

  test('are one list of documents, however long', { tags: ['slow'] }, async () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `é${id}` }));
    const server = await startServer(answer(200, rows.map((row) => `${JSON.stringify(row)}\n`).join(''), type));
    expect((await openTransport(server.url).get({ format: 'jsonLines' })).body).toEqual(rows);
    expect(server.requests[0]?.headers.accept).toContain('application/jsonl');
  });

  test('with a line that is not JSON are retried, and then an error that names the line and quotes nothing', async () => {
    const server = await startServer(answer(200, '{"a":1}\n{"password":"hunter2-hunter2"\n{"a":2}\n', type));
    const error = openTransport(server.url, { retry: { retries: 1 } }).get({ format: 'jsonLines' });
    await expect(error).rejects.toMatchObject({ code: 'decode', details: { line: 2, path: '[1]' } });
    await expect(error).rejects.toSatisfy((found) => !JSON.stringify(found).includes('hunter2'));
    expect(server.requests).toHaveLength(2);
  });

  test('that break off in a line are an error, even if the server says that this is all', async () => {
    const server = await startServer(answer(200, '{"a":1}\n{"a":', type));
    await expect(
      openTransport(server.url, { retry: { retries: 0 } }).get({ format: 'jsonLines' }),
    ).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringContaining('whose line 2 is cut off'),
    });
  });

  test('that break off between two lines are an error, since the body is shorter than the server said', async () => {
    const server = await startServer(begun('{"a":1}\n', { ...type, 'content-length': 100 }, hangUp));
    await expect(
      openTransport(server.url, { retry: { retries: 0 } }).get({ format: 'jsonLines' }),
    ).rejects.toMatchObject({
      code: 'decode',
      message: expect.stringContaining('broke off'),
    });
  });

  test('that are nested too deeply are refused', async () => {
    const deep = `${'['.repeat(600)}${']'.repeat(600)}\n`;
    const server = await startServer(answer(200, deep, type));
    await expect(openTransport(server.url).get({ format: 'jsonLines' })).rejects.toMatchObject({
      message: expect.stringContaining('nested more than'),
    });
  });
});
