import { createClient, SluiceError } from '@sluice/core';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { findApiKey, missingKey } from '../settings/findApiKey.js';
import type { Finding } from './finding.js';

const subject = 'API key';

/**
 * Whether there is a key that can be sent, and where it comes from; it is never shown. Absent = none that can be used.
 *
 * @param isNeeded whether one of the command line's own APIs is in use, which want one.
 */
export async function keyFinding(
  apiKeyFile: string | undefined,
  environment: Environment,
  isNeeded: boolean,
): Promise<{ readonly finding: Finding; readonly key?: string }> {
  try {
    const found = await findApiKey(apiKeyFile, environment);
    if (!found) {
      if (isNeeded) throw missingKey();
      return { finding: { level: 'ok', subject, text: 'none: APIs of plugins are asked without one' } };
    }
    const { key, from } = found;
    // A client refuses a key that can't be sent.
    await createClient({ apiKey: key }).close();
    const text = `${String(key.length)} characters, from ${from}`;
    const [warning] = environment.warnings;
    const finding: Finding =
      warning === undefined ? { level: 'ok', subject, text } : { level: 'warn', subject, text: `${text}. ${warning}` };
    return { finding, key };
  } catch (error) {
    if (!(error instanceof UsageError || SluiceError.is(error, 'config'))) throw error;
    return { finding: { level: 'fail', subject, text: error.message } };
  }
}
