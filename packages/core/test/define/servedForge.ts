import { onTestEnd } from '../../../../scripts/testScope.js';
import type { Source } from '../../src/index.js';
import type { Paging } from '../../src/define/index.js';
import { answerOf, clientOf, type EachIssue, type Issue, type Kept, type Repo } from './parentsApi.js';
import { serve, type Said } from './servedApi.js';

/** A forge with repos, and issues of each. */
export interface Forge extends Kept {
  /** Says something else. */
  say: (url: URL, nth: number) => Said | 'cut' | undefined;
  readonly asked: string[];
  readonly baseUrl: string;
}

/** Repos of these numbers of issues, which are called `r0`, `r1` and so on. */
export async function forgeOf(counts: readonly (number | { readonly status: number })[]): Promise<Forge> {
  const names = counts.map((_, index) => `r${String(index)}`);
  const forge: Pick<Forge, 'repos' | 'issues' | 'say'> = {
    repos: names.map((name, index): Repo => ({ id: 1000 + index, name })),
    issues: Object.fromEntries(counts.map((count, index) => [`r${String(index)}`, count])),
    say: (): Said | 'cut' | undefined => undefined,
  };
  const { asked, baseUrl } = await serve((url, nth) => forge.say(url, nth) ?? answerOf(forge, url));
  return Object.assign(forge, { asked, baseUrl });
}

/** The issues of a forge, and what its client warned of. */
export function openForge(
  { baseUrl }: Pick<Forge, 'baseUrl'>,
  each: Partial<EachIssue> = {},
  paging?: Paging,
): { readonly source: Source<Issue>; readonly warnings: string[]; readonly client: ReturnType<typeof clientOf> } {
  const client = clientOf(baseUrl, each, paging);
  const warnings: string[] = [];
  client.events.subscribe((event) => {
    if (event.type === 'warning') warnings.push(event.message);
  });
  onTestEnd(() => client.close());
  return { source: client.forge.issues(), warnings, client };
}
