import { exportTo } from '@sluice/core';
import { streamSink } from '@sluice/core/node';
import type { StreamsApi } from '@sluice/streams';
import type { Environment } from '../environment.js';
import { changeText } from '../watch/changeText.js';
import { streamLook } from '../watch/streamLook.js';
import { heading, indent } from './heading.js';

/** Watches the streams for a few polls, and shows what `sluice streams watch` shows. */
export async function showChanges(
  api: StreamsApi,
  { stdout, signal }: Pick<Environment, 'stdout' | 'signal'>,
  { every, polls }: { readonly every: number; readonly polls: number },
): Promise<void> {
  const { colors, columns } = stdout;
  await heading(stdout, 'The streams again, watched for a few seconds');
  const lines = changeText(streamLook(colors), { colors, columns, indent });
  await exportTo(api.watch({ every, polls }), streamSink(lines, stdout.stream)).run({ signal });
}
