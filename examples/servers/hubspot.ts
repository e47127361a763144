// As HubSpot responds: a search of objects between two times, by POST, that lists no more than 10,000 results.
import { z } from 'zod';
import type { Answer, Answering } from './listingServer.js';

export interface HubspotObject {
  readonly id: string;
  readonly properties: { readonly name: string; readonly hs_lastmodifieddate: string };
}

export interface Hubspot {
  readonly token: string;
  /** By the name of their type. */
  readonly objects: Readonly<Record<string, HubspotObject[]>>;
  readonly maxResults: number;
}

const search = z.strictObject({
  filterGroups: z.tuple([
    z.strictObject({
      filters: z.tuple([
        z.strictObject({
          propertyName: z.literal('hs_lastmodifieddate'),
          operator: z.literal('BETWEEN'),
          value: z.number(),
          highValue: z.number(),
        }),
      ]),
    }),
  ]),
  sorts: z.tuple([
    z.strictObject({ propertyName: z.literal('hs_lastmodifieddate'), direction: z.literal('ASCENDING') }),
  ]),
  properties: z.array(z.string()),
  limit: z.number().max(200).optional(),
  after: z.string().optional(),
});

export function hubspotAnswers({ token, objects, maxResults }: Hubspot): Answering<unknown> {
  return ({ pathname }, _, { method, headers, body }) => {
    if (headers.authorization !== `Bearer ${token}`)
      return refuse(401, 'INVALID_AUTHENTICATION', 'Authentication credentials not found.');
    const [, type = ''] = /^\/crm\/v3\/objects\/(\w+)\/search$/.exec(pathname) ?? [];
    const all = objects[type];
    if (method !== 'POST' || !all) return refuse(400, 'VALIDATION_ERROR', `Unable to infer object type from: ${type}`);
    const asked = search.safeParse(JSON.parse(body));
    if (!asked.success) return refuse(400, 'VALIDATION_ERROR', 'Invalid input JSON');
    const { filterGroups, limit = 10, after = '0' } = asked.data;
    const [
      {
        filters: [{ value, highValue }],
      },
    ] = filterGroups;
    const from = Number(after);
    if (from + limit > maxResults)
      return refuse(400, 'VALIDATION_ERROR', `The offset exceeds the limit of ${maxResults} results.`);
    const timeOf = ({ properties }: HubspotObject): number => Date.parse(properties.hs_lastmodifieddate);
    // Both times are included.
    const found = all
      .filter((row) => timeOf(row) >= value && timeOf(row) <= highValue)
      .sort((a, b) => timeOf(a) - timeOf(b));
    const to = from + limit;
    return {
      body: {
        total: found.length,
        results: found.slice(from, to).map((row) => ({ ...row, updatedAt: row.properties.hs_lastmodifieddate })),
        ...(to < found.length && { paging: { next: { after: String(to) } } }),
      },
    };
  };
}

function refuse(status: number, category: string, message: string): Answer {
  return { status, body: { status: 'error', category, message } };
}
