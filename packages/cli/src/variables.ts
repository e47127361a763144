/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;
