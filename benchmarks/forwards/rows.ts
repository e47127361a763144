/** A forward, or the same by the loop. */
export interface ForwardWork {
  readonly url: string;
  readonly records: number;
  readonly deliveries: number;
  /** Records per request. */
  readonly batch: number;
}

export const pageSize = 100;
export const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

export interface Row {
  readonly uuid: string;
  readonly n: number;
  readonly text: string;
}

/** Rows of about 350 bytes. */
export function pageAt(from: number, records: number): Row[] {
  return Array.from({ length: Math.min(pageSize, records - from) }, (_, nth) => ({
    uuid: `row ${from + nth}`,
    n: from + nth,
    text: 'x'.repeat(300),
  }));
}
