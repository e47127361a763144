import type { SourceInfo } from '@sluice/core';
import { check, checkPlainJson, checkSame, show } from '../check.js';
import { Skipped, type Checks } from '../suite.js';
import type { WalkedSource } from './walkedSource.js';

/** The info of a source, which decides whether a checkpoint fits. */
export const infoChecks: Checks<WalkedSource> = {
  'describes itself, always in the same way': async (walked) => {
    const { info } = walked.source;
    const { name, identity, rowsIdentity, partitions, schema } = info;
    check(typeof name === 'string' && name !== '', `The source's name must be a string, not ${show(name)}.`);
    checkPlainJson(identity, "The source's identity");
    if (rowsIdentity !== undefined) checkPlainJson(rowsIdentity, "The source's rowsIdentity");
    check(
      partitions === Infinity || (Number.isSafeInteger(partitions) && partitions >= 1),
      `There must be at least one partition, not ${show(partitions)}.`,
    );
    const columns = schema?.columns ?? [];
    check(
      columns.every((column) => typeof column === 'string') && new Set(columns).size === columns.length,
      `The columns must be different strings, not ${show(columns)}.`,
    );
    const described = describe(info);
    await walked.firstPage({ prefetch: 0 });
    checkSame(describe(walked.source.info), described, 'The description of a source after a walk');
    const what = 'The description of another source like it (a checkpoint would not match)';
    checkSame(describe(walked.another().info), described, what);
  },

  'distinguishes API keys without revealing them': async ({ source }) => {
    const { endpoint } = source.info;
    if (!endpoint?.keyFingerprint) throw new Skipped('a source with an API key');
    const one = await endpoint.keyFingerprint('one');
    const again = await endpoint.keyFingerprint('one');
    const other = await endpoint.keyFingerprint('other');
    checkSame(again, one, 'The fingerprint of the key with the same salt');
    check(one !== other, 'The fingerprint of the key is the same with another salt, so it could be looked up.');
    check(one.length <= 16, `The fingerprint of the key has ${one.length} characters: so many may reveal the key.`);
  },
};

function describe(info: SourceInfo<unknown>): object {
  const { name, identity, rowsIdentity, partitions, maxRows, isUnversioned, isEndless, schema } = info;
  return { name, identity, rowsIdentity, partitions, maxRows, isUnversioned, isEndless, columns: schema?.columns };
}
