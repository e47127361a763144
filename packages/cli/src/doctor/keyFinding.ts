import { createClient, SluiceError } from '@sluice/core';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { findApiKey } from '../settings/findApiKey.js';
import type { Finding } from './finding.js';

const subject = 'API key';

/** Whether there is a key that can be sent, and where it comes from; it is never shown. Absent = none that can be used. */
export async function keyFinding(
  apiKeyFile: string | undefined,
  environment: Environment,
): Promise<{ readonly finding: Finding; readonly key?: string }> {
  try {
    const { key, from } = await findApiKey(apiKeyFile, environment);
    // A client refuses a key that can't be sent.
    await createClient({ apiKey: key }).close();
    return { finding: { level: 'ok', subject, text: `${String(key.length)} characters, from ${from}` }, key };
  } catch (error) {
    if (!(error instanceof UsageError || SluiceError.is(error, 'config'))) throw error;
    return { finding: { level: 'fail', subject, text: error.message } };
  }
}
