/**
 * What the compiler checks of a plugin before it is used. Each type is `unknown`, which asks for nothing, or a {@link Refused} with the
 * reason as the name of a property that no plugin has: so it stands in the compiler's message.
 */

/** The language gives these a meaning on any object, or on every promise. */
export const reservedNames = [
  'then',
  'catch',
  'finally',
  'toJSON',
  'toString',
  'toLocaleString',
  'valueOf',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  '__proto__',
] as const;

/** A plugin that must not be used, and why. */
interface Refused<Reason extends string> {
  readonly refused: Reason;
}

/** Asks for a name that neither the client nor another plugin has. */
export type WithFreeName<Name extends string, Taken> = Name extends Taken | (typeof reservedNames)[number]
  ? Refused<`The name "${Name}" is taken or reserved on this client.`>
  : unknown;

/** Asks for a client that has the plugins whose namespaces are needed. `Own` are the client's own members, which are no plugins. */
export type WithNeedsMet<Needs, Client, Own> = [keyof Needs] extends [Exclude<keyof Client, Own>]
  ? Client extends Needs
    ? unknown
    : Refused<'A plugin that it requires has another namespace than the one it was written for.'>
  : Refused<`Use this plugin before it: ${Exclude<keyof Needs & string, Exclude<keyof Client, Own>>}.`>;

/** Asks that every namespace that `setup` takes is named in `requires`. */
export type WithNeedsNamed<Needs, Named extends readonly string[]> = [keyof Needs] extends [Named[number]]
  ? unknown
  : Refused<`Its setup takes what its requires does not name: ${Exclude<keyof Needs & string, Named[number]>}.`>;

/** Asks for a namespace that is there at once. */
export type WithNamespace<Api> =
  Api extends PromiseLike<unknown> ? Refused<'Its setup is async, but a namespace has to be there at once.'> : unknown;
