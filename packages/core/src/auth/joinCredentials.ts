import { type Identifiers, sha256, shortHasher } from '../identifiers.js';
import type { ApiCredentials } from '../http/credentials.js';
import type { Stamped } from '../http/stamp.js';

/** Several credentials of an API as one: every attempt gets all of them. */
export function joinCredentials(
  all: readonly ApiCredentials[],
  { name, sha256: hash = sha256 }: Pick<ApiCredentials, 'name'> & Pick<Identifiers, 'sha256'>,
): ApiCredentials {
  const shortHash = shortHasher(hash);
  /** What each of them added to what was sent. */
  const parts = new WeakMap<Stamped, readonly Stamped[]>();
  return {
    name,
    isSent: true,
    async prepare(moment) {
      for (const each of all) await each.prepare?.(moment);
    },
    current(evenExpired) {
      const found: Stamped[] = [];
      for (const each of all) {
        const stamped = each.current(evenExpired);
        if (!stamped) return undefined;
        found.push(stamped);
      }
      const joined = joinStamps(found);
      parts.set(joined, found);
      return joined;
    },
    // The API does not say which of them it refuses.
    notRefused(sent, isOutage) {
      for (const [nth, part] of (parts.get(sent) ?? []).entries()) all[nth]?.notRefused?.(part, isOutage);
    },
    refusedAgain(sent) {
      for (const [nth, part] of (parts.get(sent) ?? []).entries()) all[nth]?.refusedAgain?.(part);
    },
    async renew(refused) {
      let isRenewed = false;
      for (const [nth, part] of (parts.get(refused) ?? []).entries())
        if (await all[nth]?.renew?.(part)) isRenewed = true;
      return isRenewed;
    },
    async fingerprint(salt) {
      const each = await Promise.all(all.map((one) => one.fingerprint(salt)));
      return shortHash(`${salt}:${JSON.stringify(each)}`);
    },
    withoutSecret: (address) => all.reduce((rest, each) => each.withoutSecret(rest), address),
  };
}

function joinStamps(all: readonly Stamped[]): Stamped {
  return {
    headers: joinFields(all.map((each) => each.headers)),
    query: joinFields(all.map((each) => each.query)),
    path: all.find((each) => each.path !== undefined)?.path,
    body: joinFields(all.map((each) => each.body)),
    sign: all.find(({ sign }) => sign !== undefined)?.sign,
  };
}

function joinFields(
  all: readonly (Readonly<Record<string, string>> | undefined)[],
): Readonly<Record<string, string>> | undefined {
  const given = all.filter((fields) => fields !== undefined);
  return given.length === 0 ? undefined : Object.fromEntries(given.flatMap((fields) => Object.entries(fields)));
}
