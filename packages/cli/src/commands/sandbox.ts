import { once } from 'node:events';
import { startSandbox, type Sandbox, type SandboxOptions } from '@sluice/sandbox';
import type { Run } from '../config/config.js';
import { exitCodes, Failure, UsageError } from '../errors/errors.js';
import { toFlag } from '../options/option.js';

/** `sluice sandbox`: a local server of both APIs, until a signal ends it. Prints URLs, key and owners as JSON. */
export const sandbox: Run<'sandbox'> = async (options, environment) => {
  const { stdout, stderr, signal } = environment;
  const { rateLimit, fail, ...others } = options;
  await using server = await start({ ...others, ...(rateLimit && { rateLimit }), ...(fail && { faults: fail }) });
  const { streamsUrl, aptosUrl, apiKey, owners } = server;
  await stdout.write(`${JSON.stringify({ streamsUrl, aptosUrl, apiKey, owners })}\n`);
  if (stderr.isTerminal) stderr.print(stderr.colors.dim(hint(server)));
  if (!signal.aborted) await once(signal, 'abort');
  return exitCodes.done;
};

async function start(options: SandboxOptions): Promise<Sandbox> {
  try {
    return await startSandbox(options);
  } catch (error) {
    // A `RangeError` is about an invalid option, any other error about the machine, e.g. a port in use.
    if (error instanceof RangeError) throw new UsageError(inFlags(error.message));
    throw new Failure(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Replaces options by flags. @example inFlags('rateLimit.requests is 0: …') // '--rate-limit is 0: …' */
function inFlags(message: string): string {
  return message
    .replace(/^faults\.(\w+)/, '--fail $1')
    .replace(/^The sum of all faults/, 'The sum of all shares of --fail')
    .replace(/^(\w+)(?:\.\w+)?(?= is )/, (_, option: string) => toFlag(option))
    .replace(/, or use a script\.$/, '.');
}

function hint({ streamsUrl, aptosUrl, apiKey, owners }: Sandbox): string {
  return `
In another terminal:
  export SLUICE_STREAMS_URL=${streamsUrl}
  export SLUICE_APTOS_URL=${aptosUrl}
  export SLUICE_API_KEY=${apiKey}
  sluice streams list
  sluice nfts export --owner ${owners[0] ?? '0x1'} --to holdings.csv
Ctrl+C ends the sandbox.
`;
}
