import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { readNamedFile } from './readInput.js';
import { pingVariable } from './secretVariables.js';

/** What a monitor of cron jobs is told of a run. */
export type PingStatus = 'start' | 'success' | 'fail';

const statuses: readonly PingStatus[] = ['start', 'success', 'fail'];

/**
 * The URL of a monitor, or a template of URLs: of `--ping`, of its file, or of the environment. Adds it to the secrets, since
 * whoever knows it can ping.
 *
 * @throws UsageError that does not quote it, if it is not one.
 */
export async function findPing(
  { ping, pingFile }: { readonly ping?: string; readonly pingFile?: string },
  environment: Environment,
): Promise<string | undefined> {
  if (ping !== undefined && pingFile !== undefined)
    throw new UsageError('--ping and --ping-file exclude each other: both say which URL to ping.');
  const from = pingFile !== undefined ? '--ping-file' : ping !== undefined ? '--ping' : pingVariable;
  const template = (
    pingFile === undefined
      ? (ping ?? environment.variables[pingVariable] ?? '')
      : await readNamedFile(pingFile, { option: from, holds: 'the URL to ping' }, environment)
  ).trim();
  if (template === '' && from === pingVariable) return undefined;
  for (const secret of secretsIn(template)) environment.secrets.add(secret);
  const unknown = (template.match(placeholder) ?? []).some((each) => !known.test(each));
  const urls = pingUrls(template);
  if (unknown || urls.length === 0 || !urls.every((url) => URL.canParse(url) && /^https?:/i.test(url)))
    throw new UsageError(
      `${from} must be a URL like https://hc-ping.com/ID, or one with {status}, {start|success|fail} in words of your own, or {code} in it.`,
    );
  return template;
}

const placeholder = /\{[^{}]*\}/g;
const known = /^\{(?:status|code|[^{}|]*\|[^{}|]*\|[^{}|]*)\}$/;

/**
 * The URL that tells a monitor a status; `undefined` if it is not told of it. A URL without placeholders gets the paths of
 * Healthchecks.io. Of `{a|b|c}`, the words are for start, success and fail. The monitor is not told of a status whose word
 * is empty, nor of a start by a URL with `{code}` alone.
 *
 * @param code the exit code, which a start does not have.
 * @see https://healthchecks.io/docs/http_api/
 * @see https://cronitor.io/docs/telemetry-api
 * @example pingUrl('https://hc-ping.com/ID', 'fail', 1) // 'https://hc-ping.com/ID/fail'
 * @example pingUrl('https://cronitor.link/p/KEY/night?state={run|complete|fail}', 'success', 0)
 * // 'https://cronitor.link/p/KEY/night?state=complete'
 */
export function pingUrl(template: string, status: PingStatus, code?: number): string | undefined {
  const placeholders = template.match(placeholder) ?? [];
  if (placeholders.length === 0) return withPath(template, status);
  if (status === 'start' && placeholders.every((each) => each === '{code}')) return undefined;
  const words = placeholders.map((each) => wordFor(each, status, code));
  if (words.some((word, at) => word === '' && placeholders[at] !== '{code}')) return undefined;
  return template.replaceAll(placeholder, () => words.shift() ?? '');
}

/** All URLs of a template, with a success for the exit code. */
export function pingUrls(template: string): string[] {
  return statuses.flatMap((status) => pingUrl(template, status, 0) ?? []);
}

function wordFor(placeholder: string, status: PingStatus, code: number | undefined): string {
  if (placeholder === '{code}') return String(code ?? '');
  if (placeholder === '{status}') return status;
  return placeholder.slice(1, -1).split('|')[statuses.indexOf(status)] ?? '';
}

function withPath(url: string, status: PingStatus): string {
  if (status === 'success' || !URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.pathname = `${parsed.pathname.replace(/\/$/, '')}/${status}`;
  return parsed.href;
}

/** Shorter parts of a URL may be words. */
const minSecret = 12;

/** The URL, and what is secret in it. */
function secretsIn(template: string): string[] {
  const parts = template.split(/[/?&=#{}|]+/).slice(2);
  return [template, ...parts].filter((part) => part.length >= minSecret);
}
