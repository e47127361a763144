import { describe, expect, test } from 'vitest';
import { startReceiver } from '../src/index.js';
import { decodeRecords } from '../src/receiver/decodeRecords.js';
import { elementTexts } from '../src/receiver/elementTexts.js';
import { batch, envelope, send } from './receiverSender.js';

describe('a body is taken apart', () => {
  const a = envelope('a');
  const b = envelope('b', [1, { data: [2, 3] }, 'x,]}"\\']);
  test.each<[string, string, readonly [id: string, body: string][]]>([
    ['one envelope', a, [['msg', a]]],
    ['a bare record', '{"id":"own","data":[{"id":"x"}]}', [['msg', '{"id":"own","data":[{"id":"x"}]}']]],
    ['a bare list', '[1, 2]', [['msg', '[1, 2]']]],
    ['null', 'null', [['msg', 'null']]],
    ['nothing', '', [['msg', '']]],
    ['what is no JSON', '{"type":"batch","data":[', [['msg', '{"type":"batch","data":[']]],
    ['a batch', batch('msg', [a, b]), [['a', a], ['b', b]]], // prettier-ignore
    ['a batch of one', batch('msg', [b]), [['b', b]]],
    ['a batch of none', batch('msg', []), []],
    [
      'a batch with white space',
      '{\n "data" : [ {"id": "a"} ,\n{"id":"b" , "data":[1] } ]\n, "type":"batch"}',
      [
        ['a', '{"id": "a"}'],
        ['b', '{"id":"b" , "data":[1] }'],
      ],
    ],
    [
      'numbers and keys that parsing would change',
      '{"type":"batch","data":[{"id":"a","n":18446744073709551615,"m":1.0,"b":1,"2":0,"b":2}]}',
      [['a', '{"id":"a","n":18446744073709551615,"m":1.0,"b":1,"2":0,"b":2}']],
    ],
    [
      'lists under other keys',
      '{"type":"batch","first":[{"id":"x"}],"data":[{"id":"a"}],"last":[1,2],"deep":{"data":[3]}}',
      [['a', '{"id":"a"}']],
    ],
    [
      'the last of two lists, however their keys are spelled',
      '{"type":"batch","data":[{"id": "x"}],"d\\u0061ta":[{"id": "a"}]}',
      [['a', '{"id": "a"}']],
    ],
    ['a text with escapes', '{"x":"\\"data\\":[","type":"batch","data":[{"id":"\\\\"}]}', [['\\', '{"id":"\\\\"}']]],
  ])('%s', (_, body, records) => {
    expect(decodeRecords('msg', body).map((record) => [record.id, record.body])).toEqual(records);
  });

  test.each(['{"type":"batch","data":[{"id":"a"},{"id":7}]}', '{"type":"batch","data":[null]}', '{"type":"batch"}'])(
    '%s is no batch, but one record',
    (body) => {
      expect(decodeRecords('msg', body)).toEqual([{ id: 'msg', body, value: JSON.parse(body) }]);
    },
  );
});

test('a list without elements has no texts', () => {
  expect(elementTexts('{"data":[ ]}')).toEqual([]);
});

test('a text of 10 MB in an element is no obstacle', { tags: ['slow'] }, () => {
  const element = JSON.stringify({ id: 'a', data: '\\"[x]'.repeat(2_000_000) });
  expect(elementTexts(`{"data":[${element},${element}]}`)).toEqual([element, element]);
});

describe('a receiver counts', () => {
  test('each record of a batch by its own id, and where it came alone as the same', async () => {
    await using receiver = await startReceiver();
    const [a, b, c] = ['a', 'b', 'c'].map((id) => envelope(id)) as [string, string, string];
    await send(receiver, { id: 'batch_1', body: batch('batch_1', [b, a]) });
    await send(receiver, { id: 'c', body: c });
    await send(receiver, { id: 'a', body: a });
    expect(receiver.counts).toMatchObject({ requests: 3, accepted: 3, doubled: 1, differing: 0 });
    expect([...receiver.accepted].map(([id, { count, body }]) => [id, count, body])).toEqual([
      ['b', 1, b],
      ['a', 2, a],
      ['c', 1, c],
    ]);
    expect(receiver.requests.map(({ id, records }) => [id, records])).toEqual([
      ['batch_1', 2],
      ['c', 1],
      ['a', 1],
    ]);
  });

  test('each time that a record is accepted, and keeps its first text', async () => {
    await using receiver = await startReceiver();
    await send(receiver, { id: 'a', body: '1' });
    await send(receiver, { id: 'a', body: '2' });
    await send(receiver, { id: 'a', body: '1' });
    expect(receiver.accepted.get('a')).toEqual({ count: 3, body: '1' });
    expect(receiver.counts).toMatchObject({ accepted: 1, doubled: 2, differing: 1 });
  });

  test('another text after a failure, too', async () => {
    await using receiver = await startReceiver({ script: ['error', 'ok', 'error', 'ok'] });
    await send(receiver, { id: 'a', body: '1' });
    await send(receiver, { id: 'a', body: '2' });
    expect(receiver.counts).toMatchObject({ accepted: 1, doubled: 0, differing: 1, failed: 1 });
    await send(receiver, { id: 'b', body: '1' });
    await send(receiver, { id: 'b', body: '1' });
    expect(receiver.counts).toMatchObject({ accepted: 2, doubled: 0, differing: 1, failed: 2 });
  });
});
