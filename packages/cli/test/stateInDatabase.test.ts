import { join } from 'node:path';
import { startReceiver, startSandbox, type Delivery, type Fault, type Receiver } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { onTestEnd } from '../../../scripts/testScope.js';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { Random } from '../../../test/kit/random.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { folderWithSecret, forwardArgs, forwardTo, forwardWatchArgs, here, leftIn, secret } from './forwarding.js';
import { settingsFor, startSluice } from './runSluice.js';
import { changesInFile, folded, listed, type StreamChange } from './watching.js';

/** The changes that were accepted, in the order of their sequence. */
function changesAt({ accepted }: Receiver): StreamChange[] {
  return [...accepted.values()]
    .map(({ body }) => JSON.parse(body) as { sequence: number; data: StreamChange })
    .toSorted((a, b) => a.sequence - b.sequence)
    .map(({ data }) => data);
}

/** Whether a delivery is of a stream that the service refuses for now. */
function isAbout({ records }: Delivery, word: string): boolean {
  return records.some(({ body }) => body.includes(word));
}

describe.runIf(postgresPrograms !== undefined)('--state postgres://', () => {
  async function opened() {
    const { url, query } = await openDatabase();
    const expire = () => query("UPDATE _sluice_state SET until = now() - interval '1 s' WHERE until IS NOT NULL");
    return { state: `${url}?name=hooks`, url, query, expire };
  }

  test(
    'W1 a forwarding watch goes on in an empty folder, and its dead letters are in the state',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ streams: 4 });
      let refused = '"refused"';
      await using receiver = await startReceiver({
        secrets: [secret],
        script: (delivery) => (refused !== '' && isAbout(delivery, refused) ? { status: 422 } : 'ok'),
      });
      const { state } = await opened();
      const args = forwardWatchArgs(receiver, '--polls', '1', '--state', state);
      const folders = [1, 2, 3, 4].map(() => folderWithSecret());
      const [first = '', second = '', third = '', fourth = ''] = folders;
      expect(await here(sandbox, first, args)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining(`Its state is kept in ${state}, dead letters in ${state}.`),
      });
      sandbox.setStream(1, { tag: 'refused' });
      expect(await here(sandbox, second, args)).toMatchObject({
        code: 3,
        stderr: expect.stringMatching(/set aside in postgres:[^]*sluice dlq show '?postgres:/),
      });
      const shown = await here(sandbox, third, ['dlq', 'show', state, '--format', 'json']);
      expect(JSON.parse(shown.stdout)).toMatchObject({ total: 1, left: 1, letters: [{ line: 1, status: 422 }] });
      expect((await here(sandbox, third, ['checkpoint', 'show', state])).stdout).toContain(
        `the snapshot of the watch is in ${state}`,
      );
      refused = '';
      const replay = ['dlq', 'replay', state, ...forwardTo(receiver, '--to'), '--quiet'];
      expect(await here(sandbox, third, replay)).toMatchObject({ code: 0, stderr: '' });
      expect((await here(sandbox, third, ['dlq', 'show', state])).stdout).toContain('0 dead letters');
      expect(await here(sandbox, fourth, [...args, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
      expect(changesAt(receiver)).toHaveLength(5);
      for (const folder of folders) expect(leftIn(folder)).toEqual([]);
    },
  );

  test('an export that forwards, and one that was finished, are told apart by the name of their state', async () => {
    await using sandbox = await startSandbox({ owners: 2, holdings: 3 });
    await using receiver = await startReceiver({ secrets: [secret] });
    const { url, query } = await opened();
    const folder = folderWithSecret();
    const stateOf = (name: string) => ['--state', `${url}?name=${name}`];
    expect((await here(sandbox, folder, forwardArgs(sandbox, receiver, ...stateOf('a')))).code).toBe(0);
    const { requests } = receiver.counts;
    expect((await here(sandbox, folder, forwardArgs(sandbox, receiver, ...stateOf('a')))).code).toBe(0);
    expect(receiver.counts.requests).toBe(requests);
    expect((await here(sandbox, folder, forwardArgs(sandbox, receiver, ...stateOf('b')))).code).toBe(0);
    expect(receiver.counts.requests).toBe(2 * requests);
    expect(await query("SELECT string_agg(DISTINCT target, ' ' ORDER BY target) FROM _sluice_state")).toBe('a b');
  });

  const gone: Fault = { kind: 'status', status: 404 };

  /** A forward that has failed half-way, whose state is in a database. */
  async function halfForwarded() {
    let isFailing = true;
    const script = ({ n }: { readonly n: number }): Fault | undefined => (isFailing && n > 6 ? gone : undefined);
    const sandbox = await startSandbox({ holdings: 200, owners: 1, script });
    const receiver = await startReceiver({ secrets: [secret] });
    onTestEnd(() => sandbox.close());
    onTestEnd(() => receiver.close());
    const database = await opened();
    const args = forwardArgs(sandbox, receiver, '--quiet', '--page-size', '10', '--state', database.state);
    const cwd = folderWithSecret();
    const failed = await here(sandbox, cwd, args);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(/At least \d+ rows are delivered/) });
    isFailing = false;
    return { ...database, sandbox, args, cwd };
  }

  test('C6 changes go on in a new file if that of a watch is lost with its disk', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const { state } = await opened();
    const args = ['streams', 'watch', '--to', 'changes.jsonl', '--polls', '1', '--quiet', '--state', state];
    const types = [];
    for (const tag of ['first', 'second']) {
      const cwd = temporaryFolder();
      expect(await here(sandbox, cwd, args)).toEqual({ code: 0, stdout: '', stderr: '' });
      types.push(changesInFile(join(cwd, 'changes.jsonl')).map(({ type }) => type));
      sandbox.setStream(1, { tag });
    }
    expect(types).toEqual([['initial', 'initial', 'initial'], ['changed']]);
  });

  const damages: readonly (readonly [what: string, sql: string, code: number, sentence: RegExp])[] = [
    ['cut off', "UPDATE _sluice_state SET record = '{' WHERE name = 'record/checkpoint'", 1, /can't be read/],
    [
      'something else',
      "UPDATE _sluice_state SET record = '[]' WHERE name = 'record/checkpoint'",
      1,
      /The checkpoint can't be read/,
    ],
    [
      'of a newer version',
      "UPDATE _sluice_state SET record = jsonb_set(record::jsonb, '{v}', '9') WHERE name = 'record/checkpoint'",
      1,
      /newer version of Sluice/,
    ],
    [
      'of a newer format',
      `UPDATE _sluice_state SET record = '{"v":9}' WHERE name = ''`,
      1,
      /another version of Sluice/,
    ],
    ['without its lease', 'ALTER TABLE _sluice_state DROP COLUMN until', 2, /has no until/],
  ];

  test.each(damages)(
    'E6 a state that is %s is refused in a sentence',
    { tags: ['slow'] },
    async (_, sql, expected, sentence) => {
      const { sandbox, args, cwd, query } = await halfForwarded();
      await query(sql);
      const all = "SELECT string_agg(name || record, ' ' ORDER BY name, nth) FROM _sluice_state WHERE name <> ''";
      const before = await query(all);
      const { requests } = sandbox.counts;
      const { code, stdout, stderr } = await here(sandbox, cwd, args);
      expect({ code, stdout, stderr }).toEqual({ code: expected, stdout: '', stderr: expect.stringMatching(sentence) });
      expect(stderr).toMatch(/^sluice: [^\n]+\n$/);
      expect(await query(all)).toBe(before);
      expect(sandbox.counts.requests).toBe(requests);
    },
  );

  test.each([
    ['postgres://me@127.0.0.1/jobs', '--state lacks the name of the state'],
    ['postgres://me@127.0.0.1/jobs?name=', '--state lacks the name of the state'],
    ['postgres://me:hunter22@127.0.0.1/jobs?name=a', '--state has a password'],
    ['postgres://me@127.0.0.1/jobs?name=a&password=hunter22', '--state has a password'],
    ['postgres://me@127.0.0.1/jobs?name=a&name=b', '--state names several states'],
    ['postgres://me@127.0.0.1/jobs?name=a&table=b', '--state takes one &schema=SCHEMA, no table and no #'],
    ['postgres://me@127.0.0.1/jobs?name=a#b', '--state takes one &schema=SCHEMA, no table and no #'],
    ['postgres://[::', '--state is not a valid URL'],
  ])('refuses %s', async (state, why) => {
    const sandbox = { apiKey: 'key', streamsUrl: 'https://127.0.0.1:1', aptosUrl: 'https://127.0.0.1:1' };
    const args = forwardWatchArgs({ url: 'https://127.0.0.1:1' }, '--state', state);
    const { code, stderr } = await here(sandbox, folderWithSecret(), args);
    expect([code, stderr.replace(/^sluice: (error: )?/, '')]).toEqual([2, expect.stringContaining(why)]);
    expect(stderr).not.toContain('hunter22');
  });

  test(
    'W1 W9 loses nothing in nights on empty disks, some of which are killed, and tells nothing twice by another id',
    { tags: ['slow'], timeout: 0 },
    async () => {
      const random = new Random(1);
      await using sandbox = await startSandbox({ streams: 12 });
      let kill = (): void => undefined;
      await using receiver = await startReceiver({
        secrets: [secret],
        latency: 5,
        script: (delivery) => (isAbout(delivery, '"refused') ? { status: 422 } : 'ok'),
        onRequest: () => {
          if (random.chance(0.3)) kill();
        },
      });
      const { state, expire } = await opened();
      const args = forwardWatchArgs(receiver, '--polls', '1', '--quiet', '--deliveries', '2', '--state', state);
      const nights = casesOf(20);
      let kills = 0;
      let letters = 0;
      for (let night = 0; night < nights; night += 1) {
        for (let change = 0; change < 4; change += 1)
          sandbox.setStream(random.int(1, 8), { tag: `night ${night}, change ${change}` });
        if (random.chance(0.5)) {
          sandbox.setStream(9 + (night % 3), { tag: `refused ${night}` });
          letters += 1;
        }
        for (let isKilled = random.chance(0.5); ; isKilled = false) {
          const running = startSluice(args, { env: settingsFor(sandbox), cwd: folderWithSecret() });
          kill = isKilled ? () => running.process.kill('SIGKILL') : () => undefined;
          const { code, stderr } = await running.ended;
          if (code === null) {
            kills += 1;
            // As a minute does.
            await expire();
            continue;
          }
          expect([0, 3], stderr).toContain(code);
          break;
        }
      }
      expect(kills).toBeGreaterThan(0);
      expect(receiver.counts.differing).toBe(0);
      const dead = await here(sandbox, folderWithSecret(), ['dlq', 'show', state, '--format', 'json']);
      const { total, left } = JSON.parse(dead.stdout) as { readonly total: number; readonly left: number };
      expect([total, left]).toEqual([letters, letters]);
      // Each change once, by its id, and with the letters all that there were.
      const changes = changesAt(receiver);
      const told = changes.map(({ key, after }) => `${key} ${JSON.stringify(after)}`);
      expect(new Set(told).size).toBe(told.length);
      const isDead = (id: unknown): boolean => String(JSON.stringify(listed(sandbox)[String(id)])).includes('refused');
      const living = Object.entries(listed(sandbox)).filter(([id]) => !isDead(id));
      expect(folded(changes)).toMatchObject(Object.fromEntries(living));
      expect(living.length).toBeGreaterThan(8);
    },
  );
});
