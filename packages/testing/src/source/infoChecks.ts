import type { SourceInfo } from '@sluice/core';
import { check, checkPlainJson, checkSame, shown } from '../check.js';
import { Skipped } from '../suite.js';
import type { SourceChecks } from './walkChecks.js';
import { pulled, WalkedSource } from './walkedSource.js';

/** The info of a source, which decides whether a checkpoint fits. */
export const infoChecks: SourceChecks = {
  'says what it is, and always the same': async (trial) => {
    const walked = await WalkedSource.on(trial);
    const { info } = walked.source;
    const { name, identity, rowsIdentity, partitions, schema } = info;
    check(typeof name === 'string' && name !== '', `The source's name has to be a text, and not ${shown(name)}.`);
    checkPlainJson(identity, "The source's identity");
    if (rowsIdentity !== undefined) checkPlainJson(rowsIdentity, "The source's rowsIdentity");
    check(
      Number.isSafeInteger(partitions) && partitions >= 1,
      `The partitions have to be at least one, and not ${shown(partitions)}.`,
    );
    const columns = schema?.columns ?? [];
    check(
      columns.every((column) => typeof column === 'string') && new Set(columns).size === columns.length,
      `The columns have to be different texts, and not ${shown(columns)}.`,
    );
    const described = descriptionOf(info);
    const walk = pulled(walked.source.pages({ prefetch: 0 }));
    await walked.next(walk);
    await walk.return?.();
    checkSame(descriptionOf(walked.source.info), described, 'What a source says of itself when it was walked');
    const what = 'What another source like it says of itself (a checkpoint would not fit)';
    checkSame(descriptionOf(walked.another().info), described, what);
  },

  'tells API keys apart without giving them away': async (trial) => {
    const { keyFingerprint } = (await WalkedSource.on(trial)).source.info;
    if (!keyFingerprint) throw new Skipped('a source with an API key');
    const one = await keyFingerprint('one');
    const again = await keyFingerprint('one');
    const other = await keyFingerprint('other');
    checkSame(again, one, 'The fingerprint of the key with the same salt');
    check(one !== other, 'The fingerprint of the key is the same with another salt: it could be looked up.');
    check(one.length <= 16, `The fingerprint of the key has ${one.length} characters: so many may give the key away.`);
  },
};

function descriptionOf<T>(info: SourceInfo<T>): object {
  const { name, identity, rowsIdentity, partitions, maxRows, isUnversioned, isEndless, schema } = info;
  return { name, identity, rowsIdentity, partitions, maxRows, isUnversioned, isEndless, columns: schema?.columns };
}
