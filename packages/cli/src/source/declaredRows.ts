import { nftHoldingSchema } from '@sluice/aptos';
import type { RowSchema } from '@sluice/core';
import { evmStreamSchema } from '@sluice/streams';

/** Rows of a source whose schema declares their columns. */
export interface DeclaredRows {
  readonly source: string;
  readonly noun: readonly [one: string, many: string];
  readonly schema: RowSchema<Readonly<Record<string, unknown>>>;
  /** The columns that tell the name, the status and the key of a row. */
  readonly told: readonly string[];
}

export const declaredHoldings: DeclaredRows = {
  source: 'aptos.nfts',
  noun: ['holding', 'holdings'],
  schema: nftHoldingSchema,
  told: ['name', 'owner_address', 'token_data_id_hash', 'property_version'],
};

export const declaredStreams: DeclaredRows = {
  source: 'streams.list',
  noun: ['stream', 'streams'],
  schema: evmStreamSchema,
  told: ['id', 'tag', 'status', 'statusMessage'],
};

/** Whether a source declares all of these columns, or has at least half of its own among them. */
export function hasColumns({ schema }: DeclaredRows, columns: readonly string[]): boolean {
  const known = columns.filter((column) => schema.columns.includes(column)).length;
  return known === columns.length || known >= schema.columns.length / 2;
}

/** The source of this name; `undefined` if its columns are not declared here. */
export function findDeclared(source: string | undefined): DeclaredRows | undefined {
  return [declaredHoldings, declaredStreams].find((rows) => rows.source === source);
}
