import { code, type Code, type Guess } from './draft.js';
import { quoteText } from './quoteText.js';

/** A credential of a request. */
interface SentSecret {
  readonly place: 'header' | 'query';
  /** Of the header or the parameter. */
  readonly name: string;
  /** What stands before it in a header, e.g. `Bearer `. */
  readonly prefix: string;
  readonly secret: string;
}

/** A request, apart from its credentials. */
export interface Sent {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly SentSecret[];
}

const secretParam =
  /^(api_?key|app_?key|app_?id|key|token|(access|auth|api)_?token|auth|secret|client_?secret|sig|signature|password|pass)$/i;
/** Headers that say how to answer. Any other one may be a credential. */
const plainHeader = /^(accept(-.*)?|user-agent|content-type|prefer|(.*-)?(version|revision))$/i;

/** Takes the credentials out of a request. @param known gets the secrets, so that nothing prints them */
export function splitSecrets(url: URL, headers: Readonly<Record<string, string>>, known: Set<string>): Sent {
  const plain = new URL(url);
  plain.username = plain.password = plain.hash = '';
  const secrets: SentSecret[] = [];
  for (const [name, secret] of url.searchParams) {
    if (!secretParam.test(name) || secret === '') continue;
    secrets.push({ place: 'query', name, prefix: '', secret });
    plain.searchParams.delete(name);
  }
  const others = Object.entries(headers).filter(([name, value]) => {
    if (plainHeader.test(name)) return true;
    const [, prefix = '', secret = value] = /^([A-Za-z][\w-]* (?:token=)?)(.*)$/.exec(value) ?? [];
    secrets.push({ place: 'header', name, prefix, secret });
    return false;
  });
  for (const { secret } of secrets) known.add(secret);
  return { url: plain, headers: Object.fromEntries(others), secrets };
}

/** The `auth` of a definition that sends what a request had; absent if it had no credentials. */
export function draftAuth({ secrets }: Sent, nameVariable: (secret: string) => string): Guess<Code> | undefined {
  const codes = secrets.map(({ place, name, prefix }, nth): Code => {
    const kind = prefix === 'Bearer ' ? 'TOKEN' : 'KEY';
    const alike = secrets.slice(0, nth).filter((before) => (before.prefix === 'Bearer ') === (kind === 'TOKEN')).length;
    const secret = `{ env: ${quoteText(nameVariable(alike === 0 ? kind : `${kind}_${alike + 1}`))} }`;
    if (place === 'query') return code('queryKey', `${quoteText(name)}, ${secret}`);
    if (prefix === 'Bearer ' && /^authorization$/i.test(name)) return code('bearer', secret);
    if (prefix === 'Basic ' && /^authorization$/i.test(name)) {
      const [user, password] = ['USER', 'PASSWORD'].map((part) => `{ env: ${quoteText(nameVariable(part))} }`);
      return code('basic', `{ user: ${user}, password: ${password} }`);
    }
    const options = prefix === '' ? '' : `, { prefix: ${quoteText(prefix)} }`;
    return code('header', `${quoteText(name)}, ${secret}${options}`);
  });
  const [first] = codes;
  if (!first) return undefined;
  const text = codes.length === 1 ? first.text : `[${codes.map((code) => code.text).join(', ')}]`;
  return { value: { text, uses: codes.flatMap(({ uses }) => uses) } };
}
