// Posts changes of streams to Slack, for --to slack:NAME. See docs/guides/slack.md.
import { definePlugin, type Change, type Due } from '@sluice/core';
import { webhook } from '@sluice/exporters/webhook';
import type { EvmStream } from '@sluice/streams';

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

type StreamEvent = Change<EvmStream> | Due<EvmStream>;

/** The body that Slack wants. */
function messageOf(event: StreamEvent): { text: string } {
  return { text: textOf(event).replace(/[&<>]/g, (character) => escapes[character] ?? '') };
}

function textOf(event: StreamEvent): string {
  if (event.type === 'due' || event.type === 'resolved') {
    const { type, rule, key, row, began, actBefore } = event;
    const name = `${row.tag ?? key} (${rule})`;
    if (type === 'resolved') return `Resolved: ${name}`;
    const until = actBefore === undefined ? '' : `, act ${actBefore === null ? 'now' : `before ${actBefore}`}`;
    return `:rotating_light: Due: ${name} since ${began.earliest ?? `${began.latest} or earlier`}${until}`;
  }
  const { key, before, after } = event;
  return `${after?.tag ?? key}: ${before?.status ?? '?'} -> ${after?.status ?? '?'} ${after?.statusMessage ?? ''}`;
}

/** `allowAddresses` is for a receiver on this machine, to try it. */
export default ({ allowAddresses = [] }: { allowAddresses?: string[] } = {}) =>
  definePlugin({
    name: 'slackMessages',
    sinks: {
      slack: (name) =>
        webhook<StreamEvent>({
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
