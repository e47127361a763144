const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const pattern = new RegExp(`^sluice-${uuid}-new-(.+)$`);

/**
 * A name for a file that is not complete yet, and is to be called `name`. Each is used once, and nobody else calls a file like that: so
 * what a kill left behind can be cleared away by its name, also where people keep files of their own beside it.
 *
 * @example unfinishedName('checkpoint') // 'sluice-0b1f…-new-checkpoint'
 */
export function unfinishedName(name: string): string {
  return `sluice-${crypto.randomUUID()}-new-${name}`;
}

/** What an unfinished file was to be called; `undefined` for any other file. */
export function intendedName(name: string): string | undefined {
  return pattern.exec(name)?.[1];
}
