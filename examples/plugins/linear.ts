// Linear: one address for all GraphQL queries. A page is a connection, and errors come with status 200.
import { byConnection, defineApi, graphqlErrors, header, listing } from '@sluice/core/define';
import { z } from 'zod';

export const linear = defineApi({
  name: 'linear',
  baseUrl: 'https://api.linear.app/',
  auth: header('Authorization', { env: 'LINEAR_API_KEY' }),
  rateLimit: { requests: 1_500, per: 3_600_000 },
  sources: {
    issues: listing({
      description: 'Issues of a team.',
      method: 'POST',
      path: '/graphql',
      params: z.object({ team: z.string().describe('its key, e.g. ENG') }),
      body: {
        query: `query ($team: String!, $first: Int!, $after: String) {
          issues(filter: { team: { key: { eq: $team } } }, first: $first, after: $after) {
            nodes { id identifier title updatedAt }
            pageInfo { hasNextPage endCursor }
          }
        }`,
        variables: { team: '{team}' },
      },
      pageSize: { into: 'variables.first', default: 50, max: 250 },
      paging: byConnection('data.issues'), // puts the cursor into variables.after
      responses: graphqlErrors(),
      rows: 'data.issues.nodes',
      columns: ['identifier', 'title', 'updatedAt'],
      key: 'id',
    }),
  },
});
