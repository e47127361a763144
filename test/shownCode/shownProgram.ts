import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '..', '..');

/** A piece of TypeScript in the documentation. */
export interface Block {
  /** Its place, for messages: `README.md:12`, `@sluice/core csv`. */
  readonly place: string;
  readonly code: string;
  /** The type that it is an example of, if it is an object instead of a program. */
  readonly type?: string;
}

/**
 * The public code of the packages and all code blocks in one program, because reading the sources takes most of the
 * time.
 */
export class ShownProgram {
  readonly #options: ts.CompilerOptions;
  readonly #host: ts.CompilerHost;
  readonly #virtual = new Map<string, string>();
  readonly #program: ts.Program;
  /** The module that each public name is imported from. */
  readonly #modules = new Map<string, string>();
  readonly #examples: Block[] = [];

  constructor() {
    this.#options = optionsOf(join(root, 'tsconfig.json'));
    this.#host = ts.createCompilerHost(this.#options);
    const { getSourceFile, readFile, fileExists } = this.#host;
    const files = new Map<string, ts.SourceFile | undefined>();
    this.#host.fileExists = (path) => this.#virtual.has(path) || fileExists(path);
    this.#host.readFile = (path) => this.#virtual.get(path) ?? readFile(path);
    this.#host.getSourceFile = (path, how, ...rest) => {
      const text = this.#virtual.get(path);
      if (text !== undefined) return ts.createSourceFile(path, text, how);
      if (!files.has(path)) files.set(path, getSourceFile(path, how, ...rest));
      return files.get(path);
    };
    const entries = publicModules();
    const operators = join(root, 'examples/node_modules/rxjs/dist/types/index.d.ts');
    const roots = [...entries.keys(), operators, join(import.meta.dirname, 'given.ts')];
    this.#program = ts.createProgram(roots, this.#options, this.#host);
    const checker = this.#program.getTypeChecker();
    for (const [path, module] of [...entries, [operators, 'rxjs'] as const]) {
      const file = this.#program.getSourceFile(path);
      const symbol = file && checker.getSymbolAtLocation(file);
      for (const name of symbol ? checker.getExportsOfModule(symbol) : []) {
        if (!this.#modules.has(name.name)) this.#modules.set(name.name, module);
        if (module === 'rxjs') continue;
        const meant = name.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(name) : name;
        this.#examples.push(...examplesOf(meant, module));
      }
    }
  }

  /** The examples in the docstrings of the packages' exports and their members. */
  get examples(): readonly Block[] {
    return this.#examples;
  }

  /** The compiler's errors for the code blocks: one line each, starting with its place. */
  faults(blocks: readonly Block[]): string[] {
    const files = blocks.map((block, index) => {
      // In the folder of the plugins that pages show, and of their dependencies.
      const path = join(root, 'examples/plugins', `shown-${index}.ts`);
      this.#virtual.set(path, this.#moduleOf(block));
      return { path, place: block.place };
    });
    const roots = [...this.#program.getRootFileNames(), ...files.map(({ path }) => path)];
    const program = ts.createProgram(roots, this.#options, this.#host, this.#program);
    return files.flatMap(({ path, place }) => {
      const file = program.getSourceFile(path);
      return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
        ({ messageText, start = 0 }) => {
          const text = file?.text.slice(start).split('\n', 1)[0] ?? '';
          return `${place}: ${ts.flattenDiagnosticMessageText(messageText, '\n')} at ${text}`;
        },
      );
    });
  }

  /** A module that imports the public names that it uses but neither imports nor declares itself. */
  #moduleOf({ code, type }: Block): string {
    const text = type === undefined ? code : `const shown: ${type} = ${code}`;
    const { used, declared } = namesIn(text);
    const imports = [...used]
      .filter((name) => this.#modules.has(name) && !declared.has(name))
      .map((name) => `import { ${name} } from '${this.#modules.get(name) ?? ''}';`);
    return `${text}\nexport {};\n${imports.join('\n')}\n`;
  }
}

function optionsOf(path: string): ts.CompilerOptions {
  const { config } = ts.readConfigFile(path, (name) => ts.sys.readFile(name)) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
  // A code block is an excerpt: it may leave a name unused, and import a type like a value.
  return {
    ...options,
    noEmit: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    verbatimModuleSyntax: false,
    isolatedModules: false,
  };
}

/** Path and module name of every subpath of every package. */
function publicModules(): Map<string, string> {
  const entries = new Map<string, string>();
  for (const folder of readdirSync(join(root, 'packages'))) {
    const manifest = readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8');
    const { name, exports } = JSON.parse(manifest) as { name: string; exports: Record<string, unknown> };
    for (const [subpath, conditions] of Object.entries(exports)) {
      if (typeof conditions !== 'object' || conditions === null || !('@sluice/source' in conditions)) continue;
      entries.set(join(root, 'packages', folder, String(conditions['@sluice/source'])), name + subpath.slice(1));
    }
  }
  return entries;
}

function examplesOf(symbol: ts.Symbol, module: string): Block[] {
  const members = [...(symbol.members?.values() ?? []), ...(symbol.exports?.values() ?? [])];
  return [symbol, ...members].flatMap(({ name, declarations = [] }) =>
    declarations.flatMap((declaration) =>
      ts
        .getJSDocTags(declaration)
        .filter(({ tagName }) => tagName.text === 'example')
        .map(({ comment }) => {
          const text = ts.getTextOfJSDocComment(comment) ?? '';
          // A title precedes a fence.
          const code = /^```ts\n(.*?)^```/ms.exec(text)?.[1] ?? text;
          const place = `${module} ${name === symbol.name ? name : `${symbol.name}.${name}`}`;
          return code.startsWith('{') ? { place, code, type: symbol.name } : { place, code };
        }),
    ),
  );
}

/** The names that a text reads, and those that it declares or imports at the top level. */
function namesIn(text: string): { used: Set<string>; declared: Set<string> } {
  const used = new Set<string>();
  const declared = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && !isField(node)) used.add(node.text);
    ts.forEachChild(node, visit);
  };
  const file = ts.createSourceFile('shown.ts', text, ts.ScriptTarget.ESNext, true);
  visit(file);
  const declare = (name: ts.BindingName): void => {
    if (ts.isIdentifier(name)) declared.add(name.text);
    else name.elements.forEach((element) => ts.isBindingElement(element) && declare(element.name));
  };
  for (const statement of file.statements) {
    if (ts.isVariableStatement(statement)) statement.declarationList.declarations.forEach(({ name }) => declare(name));
    if (ts.isImportDeclaration(statement)) {
      const { name, namedBindings } = statement.importClause ?? {};
      if (name) declare(name);
      if (namedBindings && ts.isNamedImports(namedBindings))
        namedBindings.elements.forEach(({ name }) => declare(name));
    }
    if (ts.isFunctionDeclaration(statement) || ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement))
      if (statement.name) declare(statement.name);
  }
  return { used, declared };
}

function isField(node: ts.Identifier): boolean {
  const { parent } = node;
  return (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent)) && parent.name === node;
}
