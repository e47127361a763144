// Stripe: charges, the newest ones first, between two times, and from page to page after the id of the last row.
import { type ApiOptions, bearer, byKeyset, bySince, defineApi, listing } from '@sluice/core/define';
import { z } from 'zod';

/** @param begin the day from which the account has charges */
export const stripe = ({ begin = '2015-01-01', ...options }: Partial<ApiOptions> & { readonly begin?: string } = {}) =>
  defineApi({
    name: 'stripe',
    baseUrl: 'https://api.stripe.com/',
    auth: bearer({ env: 'STRIPE_KEY' }),
    headers: { 'Stripe-Version': '2025-09-30.clover' },
    rateLimit: { requests: 25, per: 1_000 },
    sources: {
      charges: listing({
        description: 'Charges, by the time at which they were made.',
        path: '/v1/charges',
        pageSize: { param: 'limit', default: 100, max: 100 },
        paging: bySince({
          param: 'created[gte]',
          begin,
          windows: { to: 'created[lt]', step: '30d' },
          field: 'created',
          type: 'epoch-seconds',
          order: 'newest-first',
          paging: byKeyset([{ field: 'id', param: 'starting_after' }], { more: 'has_more' }),
        }),
        rows: 'data',
        schema: z.object({ id: z.string(), amount: z.number(), currency: z.string(), created: z.number() }),
        version: '1',
        columns: ['id', 'amount', 'currency', 'created'],
        types: { amount: 'integer', created: 'integer' },
        key: 'id',
      }),
    },
  })(options);
