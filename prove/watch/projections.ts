/** The compared fields of a stream, by their names in the tables. */
export const projections = {
  'whole rows': {},
  'status, statusMessage': { project: ['status', 'statusMessage'] },
} as const;

export type Projection = keyof typeof projections;
