/** What is compared of a stream, by the names that the tables give it. */
export const projections = {
  'whole rows': {},
  'status, statusMessage': { project: ['status', 'statusMessage'] },
} as const;

export type Projection = keyof typeof projections;
