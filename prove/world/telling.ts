import type { Sink } from '@sluice/core';
import type { SinkPage } from '@sluice/core/kit';

/** The same sink, which tells when it is given a page. */
export function telling<T>(sink: Sink<T>, onWrite: (page: SinkPage<T>) => void): Sink<T> {
  return {
    ...sink,
    open: async (context) => {
      const writer = await sink.open(context);
      return new Proxy(writer, {
        get: (target, name): unknown => {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== 'function') return member;
          return (...args: readonly [SinkPage<T>]): unknown => {
            if (name === 'write') onWrite(args[0]);
            return Reflect.apply(member, target, args);
          };
        },
      });
    },
  };
}
