import type { Plugin } from '../../src/index.js';

/** A plugin that writes down what happens to it. */
export function noting<Name extends string>(name: Name, notes: string[]): Plugin<Name, { readonly name: Name }> {
  return {
    name,
    setup() {
      notes.push(`set up ${name}`);
      return { name };
    },
    async dispose() {
      await Promise.resolve();
      notes.push(`disposed of ${name}`);
    },
  };
}
