import { join } from 'node:path';
import { aptos } from '@sluice/aptos';
import { createClient } from '@sluice/core';
import { streams } from '@sluice/streams';
import { demoHoldings, demoRate, startDemoSandbox } from '../demo/demoSandbox.js';
import { exportHoldings } from '../demo/exportHoldings.js';
import { heading, indent } from '../demo/heading.js';
import { HoldingsDigest } from '../demo/holdingsDigest.js';
import { showChanges } from '../demo/showChanges.js';
import { showForward } from '../demo/showForward.js';
import { showHoldings } from '../demo/showHoldings.js';
import { showStreams } from '../demo/showStreams.js';
import { survivedFaults } from '../demo/survivedFaults.js';
import type { Environment } from '../environment.js';
import type { ExportOutcome } from '../export/exportRows.js';
import { exitCodes } from '../faults/exitCodes.js';
import { formatDuration } from '../terminal/formatDuration.js';
import { formatCount, formatNumber } from '../terminal/formatNumber.js';

const file = join('sluice-demo', 'holdings.csv');
const shown = { streams: 8, rows: 5, collections: 6 } as const;
/** Between four and five seconds. */
const watched = { every: 500, polls: 10 } as const;

/** `sluice demo`: a tour of both APIs, played by a sandbox in this process. It leaves a CSV file behind, and replaces its own. */
export async function demo(_options: object, environment: Environment): Promise<number> {
  const { stdout } = environment;
  await using sandbox = await startDemoSandbox();
  const { apiKey, streamsUrl, aptosUrl, owners } = sandbox;
  // Two at once and then an even pace: a burst of 25 would make the bar jump once a second.
  await using client = createClient({ apiKey, rateLimit: { requests: demoRate, per: 1000, burst: 2 } })
    .use(streams({ baseUrl: streamsUrl }))
    .use(aptos({ baseUrl: aptosUrl }));

  await stdout.write(`${stdout.colors.bold('Sluice demo')}\n${introduction}`);
  await showStreams(client.streams, stdout, shown.streams);

  await heading(stdout, `NFTs of ${formatCount(owners.length, 'wallet')}, into a file`);
  const digest = new HoldingsDigest(shown.rows);
  const job = { client, ownerAddresses: owners, file, mostRows: demoHoldings, digest };
  const outcome = await exportHoldings(job, environment);
  await stdout.write(survival(outcome, digest, sandbox.counts.rateLimited));

  await showHoldings(digest, stdout, shown.collections);
  await showChanges(client.streams, environment, watched);
  await showForward(client.streams, environment);
  await stdout.write(
    `\nThe file is ${stdout.colors.bold(file)}. With a key of your own:\n${ownKey(environment.command)}`,
  );
  return exitCodes.done;
}

const introduction = `A sandbox on this machine plays both APIs: ${String(demoRate)} requests a second at most,
and every now and then it fails on purpose.
`;

const ownKey = (command: string): string => `
  export SLUICE_API_KEY=…
  export SLUICE_APTOS_URL=https://…
  ${command} doctor
  ${command} nfts export --owner 0x… --to holdings.csv

  export SLUICE_STREAMS_URL=https://…
  ${command} streams watch --only status
  ${command} streams watch --forward https://… --secret-file secret.txt
`;

/** What went wrong on the way, and that nothing came of it: the rows are counted, not supposed. */
function survival({ report, tally }: ExportOutcome, digest: HoldingsDigest, refused: number): string {
  const isWhole = digest.distinct === demoHoldings && report.rows === demoHoldings;
  const lines = [
    `Retried ${formatCount(tally.retries, 'failed request')}: ${survivedFaults(tally.retriesAfter)}.`,
    `Waited ${formatDuration(tally.waited)} for the rate limit; the API refused ${refused === 0 ? 'nothing' : formatCount(refused, 'request')}.`,
    isWhole
      ? `All ${formatNumber(demoHoldings)} rows are there, none of them twice.`
      : `${formatNumber(digest.distinct)} of ${formatNumber(demoHoldings)} rows are there. That is a fault: please report it.`,
  ];
  return lines.map((line) => `${' '.repeat(indent)}${line}\n`).join('');
}
