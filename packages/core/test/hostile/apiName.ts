/** The two APIs that we speak. */
export type ApiName = 'streams' | 'aptos';
