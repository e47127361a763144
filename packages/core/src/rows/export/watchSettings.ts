/**
 * What may change about the export of a watch: the version of an operator; which changes come, and in which form;
 * anything about the target. The watch's own log has the rows, and its generations are the export's positions, so none of
 * these needs another snapshot.
 */
const parts = [
  ['version', /^versions$/],
  ['form', /^(operators|asked\.(ignore|project)|columns|written\.format)(\.|$)/],
  ['target', /^(written|sink)(\.|$)/],
] as const;

type ChangedPart = (typeof parts)[number][0] | 'nothing' | 'watch';

/**
 * The outermost part of a watch's export whose settings are others.
 *
 * @example findChangedPart({ 'asked.pipePages': 'a' }, { 'asked.pipePages': 'b' }) // 'version'
 */
export function findChangedPart(
  before: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): ChangedPart {
  const [one, other] = [before, now].map(withoutNesting);
  const changed = [...new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])])].filter(
    (path) => one?.get(path) !== other?.get(path),
  );
  const levels = changed.map((path) => {
    const level = parts.findIndex(([, pattern]) => pattern.test(path));
    return level === -1 ? parts.length : level;
  });
  if (levels.length === 0) return 'nothing';
  return parts[Math.max(...levels)]?.[0] ?? 'watch';
}

const operator = /^asked(\.of)*\.pipePages$/;

/** An operator is around what it is applied to, so an export that got its first one has the same settings deeper inside. */
function withoutNesting(settings: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const entries = Object.entries(settings);
  const operators = entries.filter(([path]) => operator.test(path)).map(([, hash]) => hash);
  const others = entries.filter(([path]) => !operator.test(path));
  const inner = others.map(([path, hash]) => [path.replace(/^asked(\.of)+/, 'asked'), hash] as const);
  // One more or less is not another version.
  return new Map([...inner, ['versions', operators.join(' ')], ['operators', String(operators.length)]]);
}
