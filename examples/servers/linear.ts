// As Linear responds: a connection of GraphQL, or errors with status 200.
import { z } from 'zod';
import type { Answering } from './listingServer.js';

const query = z.object({
  variables: z.object({ team: z.string(), first: z.number(), after: z.string().optional() }),
});

export function linearAnswers(key: string): Answering<{ readonly id: string }> {
  return (url, rows, { method, headers, body, limit }) => {
    if (method !== 'POST' || !url.pathname.endsWith('/graphql')) return { status: 404, body: {} };
    const refuse = (code: string) => ({ body: { data: null, errors: [{ message: code, extensions: { code } }] } });
    if (headers.authorization !== key) return refuse('AUTHENTICATION_ERROR');
    const { variables } = query.parse(JSON.parse(body));
    if (variables.team === 'NONE') return refuse('INVALID_INPUT');
    const begin = rows.findIndex(({ id }) => id === variables.after) + 1;
    const nodes = rows.slice(begin, begin + limit(variables.first));
    const end = begin + nodes.length;
    const pageInfo = { hasNextPage: end < rows.length, endCursor: nodes.at(-1)?.id };
    return { body: { data: { issues: { nodes, pageInfo } } } };
  };
}
