import ts from 'typescript';

/** One small change of a source: the text from `start` up to `end` becomes `text`. */
export interface Mutant {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The kind of fault. */
  readonly kind: string;
  /** From 1. */
  readonly line: number;
}

type Replacement = readonly [kind: string, node: ts.Node, text: string];

/**
 * Every mutant of a source, in the order of the text. They depend on the syntax only, not on names: conditions,
 * comparisons, numbers, calls and blocks. Strings stay unchanged, because most are messages.
 */
export function mutantsOf(source: string): Mutant[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.ES2022, true);
  const mutants: Mutant[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    for (const [kind, replaced, text] of replacements(node)) {
      const start = replaced.getStart(file);
      const line = file.getLineAndCharacterOfPosition(start).line + 1;
      mutants.push({ start, end: replaced.end, text, kind, line });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return mutants.sort((a, b) => a.start - b.start);
}

export function mutated(source: string, { start, end, text }: Pick<Mutant, 'start' | 'end' | 'text'>): string {
  return source.slice(0, start) + text + source.slice(end);
}

function replacements(node: ts.Node): Replacement[] {
  return [
    ...conditions(node),
    ...operators(node),
    ...literals(node),
    ...calls(node),
    ...statements(node),
    ...blocks(node),
  ];
}

function conditions(node: ts.Node): Replacement[] {
  const mutants: Replacement[] = [];
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    mutants.push(['dropped !', node, `(${node.operand.getText()})`]);
  if (ts.isIfStatement(node)) mutants.push(...alwaysAndNever(node.expression));
  if (ts.isConditionalExpression(node)) mutants.push(...alwaysAndNever(node.condition));
  // Without an end, only its time limit would detect it.
  const loop = ts.isWhileStatement(node) || ts.isDoStatement(node) ? node.expression : undefined;
  const condition = ts.isForStatement(node) ? node.condition : loop;
  if (condition && condition.kind !== ts.SyntaxKind.TrueKeyword) mutants.push(['never', condition, 'false']);
  return mutants;
}

/** Each of these fails in one of the cases of a negated condition, and is harder to detect. */
function alwaysAndNever(condition: ts.Expression): Replacement[] {
  return [
    ['always', condition, 'true'],
    ['never', condition, 'false'],
  ];
}

const equalities = new Map<ts.SyntaxKind, string>([
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.EqualsEqualsToken, '!='],
  [ts.SyntaxKind.ExclamationEqualsToken, '=='],
]);

const swaps = new Map<ts.SyntaxKind, readonly [kind: string, operator: string]>([
  ...[...equalities].map(([token, operator]) => [token, ['negated comparison', operator]] as const),
  [ts.SyntaxKind.LessThanToken, ['comparison off by one', '<=']],
  [ts.SyntaxKind.LessThanEqualsToken, ['comparison off by one', '<']],
  [ts.SyntaxKind.GreaterThanToken, ['comparison off by one', '>=']],
  [ts.SyntaxKind.GreaterThanEqualsToken, ['comparison off by one', '>']],
  [ts.SyntaxKind.AmpersandAmpersandToken, ['swapped && and ||', '||']],
  [ts.SyntaxKind.BarBarToken, ['swapped && and ||', '&&']],
  [ts.SyntaxKind.MinusToken, ['swapped arithmetic', '+']],
  [ts.SyntaxKind.PlusToken, ['swapped arithmetic', '-']],
  [ts.SyntaxKind.AsteriskToken, ['swapped arithmetic', '/']],
  [ts.SyntaxKind.SlashToken, ['swapped arithmetic', '*']],
  [ts.SyntaxKind.PercentToken, ['swapped arithmetic', '*']],
  [ts.SyntaxKind.PlusEqualsToken, ['swapped arithmetic', '-=']],
  [ts.SyntaxKind.MinusEqualsToken, ['swapped arithmetic', '+=']],
  [ts.SyntaxKind.QuestionQuestionEqualsToken, ['dropped ??', '=']],
]);

function operators(node: ts.Node): Replacement[] {
  if (!ts.isBinaryExpression(node)) return [];
  const { left, operatorToken, right } = node;
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) return [['dropped ??', node, `(${left.getText()})`]];
  const swap = swaps.get(operatorToken.kind);
  // Concatenated strings.
  if (!swap || (swap[0] === 'swapped arithmetic' && (isText(left) || isText(right)))) return [];
  return [[swap[0], operatorToken, swap[1]]];
}

function isText(node: ts.Expression): boolean {
  if (ts.isBinaryExpression(node)) return isText(node.left) || isText(node.right);
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

function literals(node: ts.Node): Replacement[] {
  if (ts.isNumericLiteral(node) && !ts.isPropertyName(node.parent)) {
    const number = Number(node.text.replaceAll('_', ''));
    return [
      ['number + 1', node, String(number + 1)],
      ...(number > 0 ? [['number - 1', node, String(number - 1)] as const] : []),
    ];
  }
  if (node.kind === ts.SyntaxKind.TrueKeyword && !isEndless(node)) return [['flipped boolean', node, 'false']];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [['flipped boolean', node, 'true']];
  if (ts.isArrayLiteralExpression(node) && node.elements.length > 1 && node.elements.every(ts.isLiteralExpression))
    return node.elements.map((left) => {
      const kept = node.elements.filter((element) => element !== left).map((element) => element.getText());
      return [`dropped ${left.getText()} from a list`, node, `[${kept.join(', ')}]`];
    });
  return [];
}

/** As in `while (true)`. */
function isEndless(node: ts.Node): boolean {
  return ts.isWhileStatement(node.parent) || ts.isDoStatement(node.parent);
}

function calls(node: ts.Node): Replacement[] {
  if (ts.isAwaitExpression(node)) return [['dropped await', node, node.expression.getText()]];
  if ((ts.isCallExpression(node) || ts.isPropertyAccessExpression(node)) && node.questionDotToken) {
    return [['dropped ?.', node.questionDotToken, ts.isCallExpression(node) ? '' : '.']];
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return [];
  const { expression: object, name } = node.expression;
  if (object.getText() === 'Math' && (name.text === 'min' || name.text === 'max'))
    return [['swapped min and max', name, name.text === 'min' ? 'max' : 'min']];
  if (name.text === 'catch' || name.text === 'finally') return [[`dropped .${name.text}()`, node, object.getText()]];
  return [];
}

function statements(node: ts.Node): Replacement[] {
  if (ts.isExpressionStatement(node) && !isSuperCall(node)) return [['removed statement', node, ';']];
  const isLeaving = ts.isThrowStatement(node) || ts.isBreakOrContinueStatement(node);
  // Also a case's break: the next case then follows.
  if (isLeaving || (ts.isReturnStatement(node) && !node.expression)) return [['removed statement', node, ';']];
  return [];
}

function isSuperCall({ expression }: ts.ExpressionStatement): boolean {
  return ts.isCallExpression(expression) && expression.expression.kind === ts.SyntaxKind.SuperKeyword;
}

function blocks(node: ts.Node): Replacement[] {
  if (ts.isCatchClause(node)) {
    const error = node.variableDeclaration?.name.getText() ?? 'error';
    return [['dropped catch', node, `catch (${error}) { throw ${error}; }`]];
  }
  if (!ts.isBlock(node) || node.statements.length === 0) return [];
  // A single statement has a mutant of its own, unless it yields a value.
  const isBody = ts.isFunctionLike(node.parent) && !ts.isConstructorDeclaration(node.parent);
  return isBody || node.statements.length > 1 ? [['emptied block', node, '{}']] : [];
}

/** A place in a source where a probe shows whether the code around it ran. */
export interface Probe {
  readonly start: number;
  /** An expression is wrapped; a statement gets the probe before it. */
  readonly end?: number;
}

/**
 * The place to detect whether a mutant's code runs: its statement, or the body of an arrow function without braces.
 * `undefined` for code that runs while the module is loaded.
 */
export function probesOf(source: string, mutants: readonly Mutant[]): (Probe | undefined)[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.ES2022, true);
  return mutants.map(({ start, end }) => probeOf(innermost(file, start, end)));
}

function innermost(node: ts.Node, start: number, end: number): ts.Node {
  const inner = ts.forEachChild(node, (child) => (child.getStart() <= start && child.end >= end ? child : undefined));
  return inner ? innermost(inner, start, end) : node;
}

function probeOf(node: ts.Node): Probe | undefined {
  const { parent } = node;
  if (ts.isSourceFile(node)) return undefined;
  if (ts.isArrowFunction(parent) && parent.body === node && !ts.isBlock(node))
    return { start: node.getStart(), end: node.end };
  const isListed = ts.isBlock(parent) || ts.isCaseOrDefaultClause(parent);
  if (isListed && ts.isStatement(node)) return { start: node.getStart() };
  // Reaching a function's body means that it runs.
  const [first] = ts.isBlock(node) && ts.isFunctionLike(parent) ? node.statements : [];
  if (first) return { start: first.getStart() };
  return probeOf(parent);
}

/** The source with all its probes: `mark` returns the expression that reports a probe by its number. */
export function probed(source: string, probes: ReadonlyMap<number, Probe>, mark: (number: number) => string): string {
  const pieces = [...probes].flatMap(([number, { start, end }]) =>
    end === undefined
      ? [{ at: start, text: `${mark(number)};` }]
      : [
          { at: start, text: `(${mark(number)}, ` },
          { at: end, text: ')' },
        ],
  );
  // From the end, so that earlier places do not move.
  return pieces
    .toSorted((a, b) => b.at - a.at)
    .reduce((text, { at, text: piece }) => text.slice(0, at) + piece + text.slice(at), source);
}
