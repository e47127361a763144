import { PluginError, SluiceError } from '../errors.js';
import type { NamedTargetContext } from './plugin.js';

type Make<T> = (target: string, context: NamedTargetContext) => T | Promise<T>;

/** What makes e.g. sinks for targets that users name. */
export type Registered<T> = ReadonlyMap<string, (target: string, context: NamedTargetContext) => Promise<T>>;

/** The sinks or stores of a client's plugins. Each name is taken once. */
export class Registry<T> {
  readonly #owners = new Map<string, string>();
  readonly #registered = new Map<string, (target: string, context: NamedTargetContext) => Promise<T>>();
  readonly #kind: string;
  readonly #isOne: (made: unknown) => boolean;

  /**
   * @param kind a word for messages.
   * @param isOne checks the result, since a plugin in JavaScript may make anything.
   */
  constructor(kind: string, isOne: (made: unknown) => boolean) {
    this.#kind = kind;
    this.#isOne = isOne;
  }

  /** @throws PluginError if one of the names is taken. */
  check(plugin: string, makes: Readonly<Record<string, Make<T>>> = {}): void {
    for (const name of Object.keys(makes)) {
      const owner = this.#owners.get(name);
      if (owner === undefined) continue;
      throw new PluginError(
        `The plugins "${owner}" and "${plugin}" both provide a ${this.#kind} named "${name}". Use one of them only, or rename one of the two.`,
      );
    }
  }

  add(plugin: string, makes: Readonly<Record<string, Make<T>>> = {}): void {
    for (const [name, make] of Object.entries(makes)) {
      this.#owners.set(name, plugin);
      const which = `The ${this.#kind} "${name}" of the plugin "${plugin}"`;
      this.#registered.set(name, (target, context) => this.#made(which, () => make(target, context)));
    }
  }

  /** A copy, so that nobody registers anything through it. */
  get all(): Registered<T> {
    return new Map(this.#registered);
  }

  /** Messages do not show targets, which may contain passwords. */
  async #made(which: string, make: () => T | Promise<T>): Promise<T> {
    let made: T;
    try {
      made = await make();
    } catch (cause) {
      if (SluiceError.is(cause)) throw cause;
      throw new PluginError(`${which} could not be created.`, { cause, advice: [{ kind: 'see-cause' }] });
    }
    if (this.#isOne(made)) return made;
    throw new PluginError(`${which} is invalid: its function has to return a ${this.#kind}. Tell the plugin's author.`);
  }
}
