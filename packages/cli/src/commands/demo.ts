import { join } from 'node:path';
import { aptos } from '@sluice/aptos';
import { createClient } from '@sluice/core';
import { type FaultRates, type Sandbox, startSandbox } from '@sluice/sandbox';
import { streams } from '@sluice/streams';
import type { Run } from '../config/config.js';
import { exitCodes } from '../errors/errors.js';
import type { ExportOutcome } from '../export/exportRows.js';
import { addDashboard, findPage } from '../source/dashboardPage.js';
import { formatCount, formatDuration, formatNumber } from '../terminal/format.js';
import {
  exportHoldings,
  heading,
  HoldingsDigest,
  indent,
  showChanges,
  showCollections,
  showForward,
} from './demo/acts.js';

/** How much there is to see. */
interface Tour {
  readonly holdings: number;
  readonly watched: { readonly every: number; readonly polls: number };
  readonly faults: FaultRates;
}

const faults = { serverError: 0.04, reset: 0.02, cutBody: 0.02 };
/** Enough for the progress bar to be seen, but not to wait for it; the watch takes 4.5 seconds. */
const shortTour: Tour = { holdings: 8_000, watched: { every: 500, polls: 10 }, faults };
/** For `--dashboard`, nearly a minute: time to open the page, to choose and to filter, and to see the API ask for pauses. */
const longTour: Tour = {
  holdings: 40_000,
  watched: { every: 500, polls: 60 },
  faults: { ...faults, tooManyRequests: 0.01 },
};
/** Requests per second that the demo's API allows. */
const demoRate = 25;
const file = join('sluice-demo', 'holdings.csv');
const shownCollections = 6;

/** `sluice demo`: a tour of both APIs in a sandbox in this process. Writes a CSV file, replacing an earlier one. */
export const demo: Run<'demo'> = async (options, environment) => {
  const { stdout } = environment;
  const tour = options.dashboard === undefined ? shortTour : longTour;
  await using sandbox = await startDemoSandbox(tour);
  const { apiKey, streamsUrl, aptosUrl, owners } = sandbox;
  // A small burst: with 25, the bar would jump once per second.
  await using client = createClient({ apiKey, rateLimit: { requests: demoRate, per: 1000, burst: 2 } })
    .use(streams({ baseUrl: streamsUrl }))
    .use(aptos({ baseUrl: aptosUrl }));

  await addDashboard(client, options, environment);
  const page = findPage(client);
  page?.show({ command: `${environment.command} demo` });
  await stdout.write(`${stdout.colors.bold('Sluice demo')}\n${introduction}`);
  await heading(stdout, `NFTs of ${formatCount(owners.length, 'wallet')}, into a file`);
  const digest = new HoldingsDigest();
  const job = { client, ownerAddresses: owners, file, maxRows: tour.holdings, digest };
  const outcome = await exportHoldings(job, environment);
  await stdout.write(exportSummary(outcome, digest, tour.holdings, sandbox.counts.rateLimited));

  await showCollections(digest, stdout, shownCollections);
  page?.show({
    kind: 'watch',
    title: 'streams.list.changes',
    command: `${environment.command} streams watch --only status`,
  });
  await showChanges(client.streams, environment, tour.watched);
  page?.show({ kind: 'forward', title: 'streams.list', target: 'a service on this machine' });
  await showForward(client.streams, environment);
  page?.end({ outcome: 'finished', message: 'The demo is over. What it showed stays here until you close this page.' });
  await stdout.write(
    `\nThe file is ${stdout.colors.bold(file)}. With a key of your own:\n${ownKey(environment.command)}`,
  );
  return exitCodes.done;
};

const introduction = `A sandbox on this machine simulates both APIs: ${String(demoRate)} requests a second at most,
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

/** The errors during the export, and whether all rows arrived nevertheless, as counted from the rows. */
function exportSummary(
  { report, retries, waited }: ExportOutcome,
  digest: HoldingsDigest,
  expected: number,
  refused: number,
): string {
  const isComplete = digest.distinct === expected && report.rows === expected;
  const lines = [
    `Retried ${formatCount(retries, 'failed request')}.`,
    `Waited ${formatDuration(waited)} for the rate limit; the API refused ${refused === 0 ? 'nothing' : formatCount(refused, 'request')}.`,
    isComplete
      ? `All ${formatNumber(expected)} rows are there, none of them twice.`
      : `${formatNumber(digest.distinct)} of ${formatNumber(expected)} rows are there. That is a fault: please report it.`,
  ];
  return lines.map((line) => `${' '.repeat(indent)}${line}\n`).join('');
}

/** Ms between two changes of a stream's status. */
const statusEvery = 700;

/** The demo's APIs: always the same rows, and much the same errors. */
function startDemoSandbox({ holdings, faults }: Tour): Promise<Sandbox> {
  return startSandbox({
    seed: 17,
    holdings,
    rateLimit: { requests: demoRate, per: 1000 },
    statusEvery,
    latency: [5, 30],
    faults,
  });
}
