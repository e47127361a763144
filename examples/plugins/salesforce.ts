// Salesforce: a query in SOQL, which has the time of the last change. Tokens come from the organization's own address.
import { byLink, bySince, defineApi, listing, oauth2 } from '@sluice/core/define';
import { z } from 'zod';

export const salesforce = defineApi({
  name: 'salesforce',
  auth: oauth2({
    tokenUrl: '/services/oauth2/token', // below the base URL, e.g. https://acme.my.salesforce.com
    clientId: { env: 'SALESFORCE_CLIENT_ID' },
    clientSecret: { env: 'SALESFORCE_CLIENT_SECRET' },
    clientIn: 'body',
  }),
  sources: {
    accounts: listing({
      description: 'Accounts, also removed ones, the one that changed last at the end.',
      path: '/services/data/v62.0/queryAll',
      headers: { 'Sforce-Query-Options': 'batchSize=2000' },
      paging: bySince({
        param: 'q',
        write:
          'SELECT Id, Name, IsDeleted, SystemModstamp FROM Account WHERE SystemModstamp >= {instant} ORDER BY SystemModstamp, Id',
        begin: '2000-01-01',
        field: 'SystemModstamp',
        type: 'instant',
        paging: byLink({ at: 'nextRecordsUrl?' }),
      }),
      responses: { 400: 'expired-cursor' }, // INVALID_QUERY_LOCATOR, after two days
      rows: 'records',
      total: 'totalSize',
      schema: z.object({ Id: z.string(), Name: z.string(), IsDeleted: z.boolean(), SystemModstamp: z.string() }),
      version: '1',
      columns: ['Id', 'Name', 'IsDeleted', 'SystemModstamp'],
      types: { IsDeleted: 'boolean', SystemModstamp: 'timestamp' },
      key: 'Id',
    }),
  },
});
