/**
 * What the compiler checks before a plugin is used. Each type is `unknown`, which any plugin satisfies, or
 * {@link Refused} with a reason that the compiler reports.
 */

/** They have a meaning on any object or promise. */
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

/** Requires a name that neither the client nor another plugin has. */
export type WithFreeName<Name extends string, Taken> = Name extends Taken | (typeof reservedNames)[number]
  ? Refused<`The name "${Name}" is taken or reserved on this client.`>
  : unknown;

/** Requires a client whose plugins provide the needed namespaces. `Own` are the client's own members. */
export type WithNeedsMet<Needs, Client, Own> = [keyof Needs] extends [Exclude<keyof Client, Own>]
  ? Client extends Needs
    ? unknown
    : Refused<'A plugin that it requires has another namespace than the one it was written for.'>
  : Refused<`Use this plugin before it: ${Exclude<keyof Needs & string, Exclude<keyof Client, Own>>}.`>;

/** Requires that `requires` names every namespace that `setup` takes. */
export type WithNeedsNamed<Needs, Named extends readonly string[]> = [keyof Needs] extends [Named[number]]
  ? unknown
  : Refused<`Its setup takes what its requires does not name: ${Exclude<keyof Needs & string, Named[number]>}.`>;

/** Requires a synchronous namespace. */
export type WithNamespace<Api> =
  Api extends PromiseLike<unknown> ? Refused<'Its setup is async, but a namespace has to be there at once.'> : unknown;
