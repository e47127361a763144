import { describe, expect, test } from 'vitest';
import { hasRelation, parseLinkHeader } from '../../src/define/pages/byLink.js';

const nexts = (header: string): string[] | undefined =>
  parseLinkHeader(header)
    ?.filter((link) => hasRelation(link, 'next'))
    .map(({ uri }) => uri);

describe('a Link header', () => {
  test.each<[string, string[]]>([
    ['', []],
    ['</a?page=2>; rel=next', ['/a?page=2']],
    ['</a?page=2>; rel="next"', ['/a?page=2']],
    [
      '<https://api.example.com/a?page=2>; rel="next", <https://api.example.com/a?page=9>; rel="last"',
      ['https://api.example.com/a?page=2'],
    ],
    ['</p>; rel="prev", </n>; rel="next"', ['/n']],
    ['</n>;rel=next,</p>;rel=prev', ['/n']],
    ['  ,, </n> ;\trel = "next" ,, ', ['/n']],
    ['</n>; rel="last next"', ['/n']],
    ["</n>; rel='next'", ['/n']],
    ["</n>; rel='last next', </p>; rel='prev'", ['/n']],
    ['</n>; REL="Next"', ['/n']],
    ['</n>; rel="nextpage"', []],
    ['</n>; rel="prev"; rel="next"', []],
    ['</n>; title="a, b; rel=\\"prev\\""; rel="next"', ['/n']],
    ['</n>; title="not > the end, </x>; rel=next"; rel=next', ['/n']],
    ['</n>; rel="ne\\xt"', ['/n']],
    ['</a,b;c?x=1,2>; rel=next', ['/a,b;c?x=1,2']],
    ["</n>; rel=next; title*=UTF-8''n%c3%a4chste", ['/n']],
    ['</n>; rel=next;', ['/n']],
    ['</n>; rel=next;; x', ['/n']],
    ['</n>; crossorigin; rel=next', ['/n']],
    ['<>; rel=next', ['']],
    ['</n>', []],
    ['</n>; rel=""', []],
    ['</a>; rel=next, </b>; rel=next', ['/a', '/b']],
  ])('%s has these next pages: %j', (header, uris) => {
    expect(nexts(header)).toEqual(uris);
  });

  test.each([
    '/n; rel=next',
    'https://api.example.com/n',
    '</n; rel=next',
    '</n> rel=next',
    '</n>; rel="next',
    '</n>; rel="next" x',
    '</n>; rel=next" ',
    '</n></m>; rel=next',
    '</p>; rel=prev, n; rel=next',
  ])('%s is none, so that no link is missed', (header) => {
    expect(parseLinkHeader(header)).toBeUndefined();
  });

  test('of any length is read in no more than its length', { tags: ['slow'] }, () => {
    const links = Array.from(
      { length: 20_000 },
      (_, index) => `</p${String(index)}>; rel="x"; title="${'\\"'.repeat(20)}"`,
    );
    expect(nexts([...links, '</n>; rel=next'].join(', '))).toEqual(['/n']);
    expect(parseLinkHeader(`</n>; rel="${'\\"'.repeat(100_000)}`)).toBeUndefined();
  });
});
