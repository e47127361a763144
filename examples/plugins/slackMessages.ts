// Posts changes of streams to Slack, for --to slack:NAME. See docs/guides/slack.md.
import { definePlugin } from '@sluice/core';
import { webhook } from '@sluice/exporters/webhook';
import type { EvmStream } from '@sluice/streams';

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A row of `streams watch`. */
interface StreamChange {
  readonly key?: string;
  readonly before?: EvmStream | null;
  readonly after?: EvmStream | null;
}

/** The body that Slack wants. */
function messageOf({ key, before, after }: StreamChange): { text: string } {
  const text = `${after?.tag ?? key ?? '?'}: ${before?.status ?? '?'} -> ${after?.status ?? '?'} ${after?.statusMessage ?? ''}`;
  return { text: text.replace(/[&<>]/g, (character) => escapes[character] ?? '') };
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
