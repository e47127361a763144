// Shopify (Admin API): the next page is a Link whose page_info stands for all filters, which must not be sent again.
import { byLink, bySince, defineApi, header, listing } from '@sluice/core/define';
import { z } from 'zod';

const pageSize = { param: 'limit', default: 250, max: 250 } as const;

export const shopify = defineApi({
  name: 'shopify',
  auth: header('X-Shopify-Access-Token', { env: 'SHOPIFY_TOKEN' }),
  rateLimit: { requests: 2, per: 1_000 }, // what leaks out of its bucket
  sources: {
    orders: listing({
      description: 'Orders of any state, the one that changed last at the end.',
      path: '/admin/api/2025-10/orders.json',
      query: { status: 'any', order: 'updated_at asc' },
      pageSize,
      paging: bySince({ param: 'updated_at_min', field: 'updated_at', type: 'instant', paging: byLink() }),
      rows: 'orders',
      schema: z.object({ id: z.number(), name: z.string(), total_price: z.string(), updated_at: z.string() }),
      version: '1',
      columns: ['id', 'name', 'total_price', 'updated_at'],
      types: { id: 'integer', updated_at: 'timestamp' },
      key: 'id',
    }),
    variants: listing({
      description: 'Variants of all products.',
      path: '/admin/api/2025-10/products.json',
      query: { fields: 'id,variants' },
      pageSize,
      paging: byLink(),
      rows: 'products[*].variants[*]',
      schema: z.object({ id: z.number(), product_id: z.number(), sku: z.string().nullable(), price: z.string() }),
      version: '1',
      columns: ['id', 'product_id', 'sku', 'price'],
      types: { id: 'integer', product_id: 'integer' },
      key: 'id',
    }),
  },
});
