// Posts changes of streams to Slack, for --to slack:NAME. See docs/guides/slack.md.
import { definePlugin } from '@sluice/core';
import { webhook } from '@sluice/exporters/webhook';
import type { EvmStream } from '@sluice/streams';

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A row of `streams watch`: a change, or what a rule has found. */
interface StreamEvent {
  readonly type?: string;
  readonly key?: string;
  readonly before?: EvmStream | null;
  readonly after?: EvmStream | null;
  readonly rule?: string;
  readonly row?: EvmStream;
  readonly actBefore?: string | null;
}

/** The body that Slack wants. */
function messageOf(event: StreamEvent): { text: string } {
  return { text: textOf(event).replace(/[&<>]/g, (character) => escapes[character] ?? '') };
}

function textOf({ type, key, before, after, rule, row, actBefore }: StreamEvent): string {
  const name = `${row?.tag ?? key ?? '?'} (${rule ?? '?'})`;
  if (type === 'resolved') return `Resolved: ${name}`;
  if (type === 'due') return `:rotating_light: ${name}, act ${actBefore ? `before ${actBefore}` : 'now'}`;
  return `${after?.tag ?? key ?? '?'}: ${before?.status ?? '?'} -> ${after?.status ?? '?'} ${after?.statusMessage ?? ''}`;
}

/** `allowAddresses` is for a receiver on this machine, to try it. */
export default ({ allowAddresses = [] }: { allowAddresses?: string[] } = {}) =>
  definePlugin({
    name: 'slackMessages',
    sinks: {
      slack: (name) =>
        webhook<object>({
          url: process.env[`SLACK_${name.toUpperCase()}_URL`] ?? '',
          secret: false, // Slack checks no signature: the address is the secret
          format: messageOf,
          deliveries: 1, // one after the other, in order
          rateLimit: { requests: 1, per: 1_000 }, // Slack takes about one message per second
          deadLetter: `${name}.dead.jsonl`,
          allowAddresses,
        }),
    },
  });
