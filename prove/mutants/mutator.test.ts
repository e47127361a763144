import { describe, expect, test } from 'vitest';
import { mutantsOf, mutated, probed, probesOf } from './mutator.js';

/** The source with each of its mutants, except for those of its numbers. */
function textsOf(source: string): string[] {
  const mutants = mutantsOf(source).filter(({ kind }) => !kind.startsWith('number'));
  return mutants.map((mutant) => mutated(source, mutant));
}

describe('a source has a mutant', () => {
  test.each([
    ['if (a) b = c;', ['if (true) b = c;', 'if (false) b = c;', 'if (a) ;']],
    ['const x = a ? b : c;', ['const x = true ? b : c;', 'const x = false ? b : c;']],
    ['const x = !a;', ['const x = (a);']],
    ['const x = a === b;', ['const x = a !== b;']],
    ['for (;a;) b();', ['for (;false;) b();', 'for (;a;) ;']],
    ['const x = a != null;', ['const x = a == null;']],
    ['const x = a < b;', ['const x = a <= b;']],
    ['const x = a >= b;', ['const x = a > b;']],
    ['const x = a && b;', ['const x = a || b;']],
    ['const x = a ?? b;', ['const x = (a);']],
    ['const x = a - b;', ['const x = a + b;']],
    ["const x = 'a' + b + c;", []],
    ['const x = Math.min(a, b);', ['const x = Math.max(a, b);']],
    ['const x = a?.b;', ['const x = a.b;']],
    ['const x = a?.(b);', ['const x = a(b);']],
    ['const x = [400, 404];', ['const x = [404];', 'const x = [400];']],
    ['const x = true;', ['const x = false;']],
    ['while (true) a.b();', ['while (true) ;']],
    ['const x = await a();', ['const x = a();']],
    ['const x = a().catch(b);', ['const x = a();']],
    [
      'try { a(); } catch { b(); }',
      ['try { ; } catch { b(); }', 'try { a(); } catch (error) { throw error; }', 'try { a(); } catch { ; }'],
    ],
    ['function f() { return a; }', ['function f() {}']],
    [
      'if (a) { b(); c(); }',
      ['if (true) { b(); c(); }', 'if (false) { b(); c(); }', 'if (a) {}', 'if (a) { ; c(); }', 'if (a) { b(); ; }'],
    ],
    ['class A extends B { constructor() { super(); } }', []],
    ['type A = 1 | true; interface B { a: 2 }', []],
  ])('%s', (source, mutants) => {
    expect(textsOf(source).toSorted()).toEqual(mutants.toSorted());
  });

  test('for each number: one more, and one less unless it is zero', () => {
    const source = 'const x = 1_000 + a[0];';
    const numbers = mutantsOf(source).filter(({ kind }) => kind.startsWith('number'));
    expect(numbers.map((mutant) => mutated(source, mutant))).toEqual([
      'const x = 1001 + a[0];',
      'const x = 999 + a[0];',
      'const x = 1_000 + a[1];',
    ]);
  });

  test('with its line', () => {
    expect(mutantsOf('a;\n\n  b = a < c;').map(({ kind, line }) => [kind, line])).toEqual([
      ['removed statement', 1],
      ['removed statement', 3],
      ['comparison off by one', 3],
    ]);
  });
});

describe('a probe', () => {
  /** The probes that are passed when the source's `run` is called, as the text that their mutants replace. */
  function passed(source: string, argument: unknown): string[] {
    const mutants = mutantsOf(source);
    const at = probesOf(source, mutants);
    const probes = new Map(at.flatMap((probe) => (probe ? [[probe.start, probe] as const] : [])));
    const seen = new Set<number>();
    const code = probed(source, probes, (number) => `seen.add(${number})`);

    new Function('seen', 'argument', `${code}\nrun(argument);`)(seen, argument);
    return mutants
      .filter((_, index) => seen.has(at[index]?.start ?? NaN))
      .map(({ start, end }) => source.slice(start, end));
  }

  test('reports which branch was taken', () => {
    const source = 'function run(a) { if (a) { b(a = 1); } else { b(a = 2); } } function b(a) {}';
    expect(passed(source, true)).toContain('b(a = 1);');
    expect(passed(source, true)).not.toContain('b(a = 2);');
    expect(passed(source, false)).toContain('b(a = 2);');
  });

  test('reports whether a function without braces was called', () => {
    const source =
      'const f = (a) => (b) => a + b; const g = (a) => ({ a: a - 1 }); function run(a) { if (a) f(1)(2); else g(1); }';
    expect(passed(source, true)).toContain('+');
    expect(passed(source, true)).not.toContain('-');
    expect(passed(source, false)).toContain('-');
    expect(passed(source, false)).not.toContain('+');
  });

  test('does not exist for code that runs when the module is loaded', () => {
    const source = 'const most = 1; class A { size = 2; }';
    expect(probesOf(source, mutantsOf(source))).toEqual(mutantsOf(source).map(() => undefined));
  });
});
