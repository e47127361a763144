import { SinkError, type Json, type Sink } from '@sluice/core';
import type { SinkContext, SinkPage, SinkWriter } from '@sluice/core/kit';
import type { SinkFixture } from '../../src/index.js';
import { Table, tableSink } from '../tableSink.js';
import type { Mutants } from './mutant.js';

type Rows = Sink<unknown>;
type Writer = SinkWriter<unknown>;
type Context = SinkContext<unknown>;

/** A sink on a table, changed in one place. */
function mutant(caughtBy: string, spoil: (sink: Rows, table: Table) => Rows) {
  const factory = (): SinkFixture<unknown> => {
    const table = new Table();
    return { sink: () => spoil(tableSink(table), table), rows: () => table.rows };
  };
  return { caughtBy, factory };
}

/** The same where its writer is the one that is changed. */
function writerMutant(caughtBy: string, spoil: (writer: Writer, context: Context, table: Table) => Partial<Writer>) {
  return mutant(caughtBy, (sink, table) => ({
    ...sink,
    open: async (context) => {
      const writer = await sink.open(context);
      return { ...writer, ...spoil(writer, context, table) };
    },
  }));
}

const withItems = (page: SinkPage<unknown>, items: readonly unknown[]): SinkPage<unknown> => ({ ...page, items });
const rowsIn = (sinkPosition: Json): number => (sinkPosition as { rows: number }).rows;

export const sinkMutants: Mutants<SinkFixture<unknown>> = {
  ...Object.fromEntries(
    (['abort', 'seal', 'close'] as const).map((call) => [
      `writes a row 5 ms after ${call}`,
      writerMutant('writes nothing once abort, seal or close has resolved', (writer, _context, table) => {
        const late = async <R>(ended: Promise<R>): Promise<R> => {
          const result = await ended;
          setTimeout(() => (table.committed = [...table.committed, ...table.committed.slice(0, 1)]), 5);
          return result;
        };
        return {
          ...(call === 'abort' && { abort: (reason, how) => late(writer.abort(reason, how)) }),
          ...(call === 'seal' && { seal: (...args) => late(writer.seal(...args)) }),
          ...(call === 'close' && { close: () => late(writer.close()) }),
        };
      }),
    ]),
  ),

  'loses the last batch': writerMutant('has rows that only seal has flushed', (_writer, _context, table) => ({
    seal: async () => ({ rows: table.committed.length }),
  })),

  'reports a place before it is durable': (() => {
    // What flush only promises to write is written with the next call.
    const lazy = (writer: Writer, table: Table): Partial<Writer> => {
      let promised = 0;
      return {
        write: async (page) => {
          promised += page.items.length;
          await writer.write(page);
        },
        flush: async () => ({ rows: table.committed.length + promised }),
      };
    };
    return writerMutant(
      'has the committed rows after a crash, and no others if it promises exactly-once',
      (writer, _, table) => lazy(writer, table),
    );
  })(),

  'writes twice after a resume': mutant(
    'resumes at the position before the last, since a crash may happen before the last is in a checkpoint',
    (sink, table) => ({
      ...sink,
      open: async (context) => {
        const { committed } = table;
        const writer = await sink.open(context);
        // What lies behind the place is not cut off.
        if (context.resumeAt) table.committed = committed;
        return { ...writer, write: (page) => writer.write(page), flush: () => writer.flush() };
      },
    }),
  ),

  'ignores restart': mutant('starts over on request where an unfinished export left something', (sink, table) => ({
    ...sink,
    open: (context) => {
      const { committed } = table;
      return sink.open(context).then((writer) => {
        if (context.restart) table.committed = committed;
        return writer;
      });
    },
  })),

  'starts over whenever it is opened': mutant(
    'leaves a finished target alone, unless it replaces it completely',
    (sink) => ({
      ...sink,
      open: (context) => sink.open({ ...context, restart: context.resumeAt === undefined }),
    }),
  ),

  'loses a row of each large page': writerMutant('has the rows of all pages once and in order', (writer) => ({
    write: (page) => writer.write(withItems(page, page.items.slice(0, 100))),
  })),

  ...Object.fromEntries(
    [500, 1_000].map((max) => [
      `takes ${max} rows of a page at most`,
      writerMutant('has the rows of a page with more than a thousand', (writer) => ({
        write: (page) => writer.write(withItems(page, page.items.slice(0, max))),
      })),
    ]),
  ),

  'drops rows that are equal to an earlier one': writerMutant(
    'has equal rows as often as they arrived, if they have no key',
    (writer) => {
      const known = new Set<string>();
      const isNew = (row: unknown) => known.size < known.add(JSON.stringify(row)).size;
      return { write: (page) => writer.write(withItems(page, page.items.filter(isNew))) };
    },
  ),

  'drops a row that is equal to the one before it': writerMutant(
    'has equal rows as often as they arrived, if they have no key',
    (writer) => {
      let before = '';
      const isNew = (row: unknown) => before !== (before = JSON.stringify(row));
      return { write: (page) => writer.write(withItems(page, page.items.filter(isNew))) };
    },
  ),

  'has no text for values in a value': writerMutant('has nested values, as they are or as JSON text', (writer) => {
    const textOf = (field: unknown) => (typeof field === 'object' && field !== null ? String(field) : field);
    const flat = (row: unknown) =>
      Object.fromEntries(Object.entries(row as object).map(([name, field]) => [name, textOf(field)]));
    return { write: (page) => writer.write(withItems(page, page.items.map(flat))) };
  }),

  'writes the rows of a page in another order': writerMutant(
    'has the rows of all pages once and in order',
    (writer) => ({
      write: (page) => writer.write(withItems(page, page.items.toReversed())),
    }),
  ),

  'has no word for null': writerMutant('has the rows of all pages once and in order', (writer) => ({
    write: (page) =>
      writer.write(
        withItems(
          page,
          page.items.map((row) => JSON.parse(JSON.stringify(row).replaceAll(':null', ':"null"'))),
        ),
      ),
  })),

  'changes the rows that it is given': writerMutant('does not change the rows that it receives', (writer) => ({
    write: async (page) => {
      await writer.write(page);
      for (const row of page.items) (row as Record<string, unknown>)['written'] = true;
    },
  })),

  'writes a row where there was none': writerMutant('has nothing if there were no rows', (writer, _, table) => ({
    seal: async (end) => {
      if (table.committed.length === 0)
        await writer.write({ items: [{}], scope: { page: '' }, partition: 0, endsPartition: true });
      return writer.seal(end);
    },
  })),

  'is another one each time': mutant('describes itself, always in the same way', (sink) => ({
    ...sink,
    identity: { made: crypto.randomUUID() },
  })),

  'has an identity that JSON does not keep': mutant('describes itself, always in the same way', (sink) => ({
    ...sink,
    identity: { since: new Date(0) as unknown as Json },
  })),

  'answers places that JSON does not keep': writerMutant('resumes after a crash after any commit', (writer) => ({
    flush: async () => ({ rows: BigInt(rowsIn(await writer.flush())) as unknown as Json }),
  })),

  'keeps all targets in one place': (() => {
    const table = new Table();
    const factory = (): SinkFixture<unknown> => {
      table.committed = [];
      return { sink: () => tableSink(table), rows: () => table.rows };
    };
    return { caughtBy: 'separates two targets that are written at the same time', factory };
  })(),

  'can go back to the last place only': mutant(
    'resumes at the position before the last, since a crash may happen before the last is in a checkpoint',
    (sink, table) => ({
      ...sink,
      open: (context) =>
        context.resumeAt && rowsIn(context.resumeAt.sinkPosition) < table.committed.length
          ? Promise.reject(new Error('There is more in the table than this place says.'))
          : sink.open(context),
    }),
  ),

  'forgets its start': writerMutant(
    'resumes at the position before its first row, if it has one',
    (_, { resumeAt }) => ({
      ...(!resumeAt && { start: { rows: 7 } }),
    }),
  ),

  'begins anew when only close was left': mutant('is closed after a crash after seal', (sink) => ({
    ...sink,
    open: (context) =>
      sink.open(
        context.resumeAt?.isSealed ? { ...context, resumeAt: { sinkPosition: { rows: 0 }, isSealed: false } } : context,
      ),
  })),

  'can be closed only once': (() => {
    const spoil = (sink: Rows, table: Table & { isClosed?: boolean }): Rows => ({
      ...sink,
      open: async (context) => {
        const writer = await sink.open(context);
        return {
          ...writer,
          close: async () => {
            if (table.isClosed) throw new Error('It is closed.');
            table.isClosed = true;
            return writer.close();
          },
        };
      },
    });
    return mutant('is closed again after a crash between close and the removal of the checkpoint', spoil);
  })(),

  'can be sealed only once': (() => {
    const spoil = (sink: Rows, table: Table & { isSealed?: boolean }): Rows => ({
      ...sink,
      open: async (context) => {
        if (table.isSealed && !context.resumeAt?.isSealed) throw new Error('It is sealed.');
        const writer = await sink.open(context);
        return {
          ...writer,
          seal: (end) => {
            table.isSealed = true;
            return writer.seal(end);
          },
        };
      },
    });
    return mutant('resumes at its last commit after a crash before the checkpoint recorded the seal', spoil);
  })(),

  'gives up for good when it is only interrupted': writerMutant('resumes where an export was suspended', (writer) => ({
    abort: (reason) => writer.abort(reason, { isResumable: false }),
  })),

  'clears nothing away when it is given up': writerMutant(
    'allows a new export after one was aborted for good',
    (writer) => ({
      abort: (reason) => writer.abort(reason, { isResumable: true }),
    }),
  ),

  'damages what it refuses to write to': mutant(
    'leaves a finished target alone, unless it replaces it completely',
    (sink, table) => ({
      ...sink,
      open: async (context) => {
        try {
          return await sink.open(context);
        } catch (error) {
          table.committed = table.committed.slice(1);
          throw error;
        }
      },
    }),
  ),

  'damages what somebody else has begun': mutant(
    'leaves an unfinished target alone when it refuses a second export',
    (sink, table) => ({
      ...sink,
      open: async (context) => {
        if (!context.resumeAt && !context.restart && table.committed.length > 0) {
          const refusal = sink.open(context);
          table.committed = [];
          return refusal;
        }
        return sink.open(context);
      },
    }),
  ),

  'takes a place that its target does not reach': mutant(
    'refuses a position beyond its target, and resumes at one within it',
    (sink, table) => ({
      ...sink,
      open: (context) => {
        const { resumeAt } = context;
        if (!resumeAt) return sink.open(context);
        const rows = Math.min(rowsIn(resumeAt.sinkPosition), table.committed.length);
        return sink.open({ ...context, resumeAt: { ...resumeAt, sinkPosition: { rows } } });
      },
    }),
  ),

  'refuses in words that nobody understands': mutant(
    'refuses a position beyond its target, and resumes at one within it',
    (sink) => ({
      ...sink,
      open: (context) =>
        sink.open(context).catch(() => {
          throw new TypeError("Cannot read properties of undefined (reading 'rows')");
        }),
    }),
  ),

  'refuses rows that are missing as if its target were taken': mutant(
    'refuses a position beyond its target, and resumes at one within it',
    (sink) => ({
      ...sink,
      open: (context) =>
        sink.open(context).catch(() => {
          throw new SinkError('The table has rows already. Name another one.');
        }),
    }),
  ),

  'accepts in check what open refuses': mutant(
    'reports in check what open would report, and changes nothing',
    (sink) => ({
      ...sink,
      check: () => Promise.resolve(),
    }),
  ),

  'touches its target in check': mutant(
    'reports in check what open would report, and changes nothing',
    (sink, table) => ({
      ...sink,
      check: async (context) => {
        await sink.check?.(context);
        if (context.restart) table.committed = [];
      },
    }),
  ),

  'knows only one partition': writerMutant(
    'has the rows of partitions that arrive in parallel, each partition in order',
    (writer) => ({
      write: (page) => (page.partition === 2 ? Promise.resolve() : writer.write(page)),
    }),
  ),

  'stops at the first partition that ends': (() => {
    const spoil = (writer: Writer): Partial<Writer> => {
      let hasEnded = false;
      return {
        write: async (page) => {
          if (!hasEnded) await writer.write(page);
          hasEnded ||= page.endsPartition;
        },
      };
    };
    return writerMutant('resumes after a crash in the middle of partitions that arrive in parallel', spoil);
  })(),

  'takes back another partition': mutant('removes the rows of one partition, and of no other', (sink) => ({
    ...sink,
    withoutPartition: (sinkPosition, partition) => sink.withoutPartition?.(sinkPosition, 1 - partition) ?? null,
  })),

  'hides what never ends until it is suspended': (() => {
    const spoil = (writer: Writer, { isEndless }: Context, table: Table): Partial<Writer> => {
      let kept: SinkPage<unknown>[] = [];
      if (!isEndless) return {};
      return {
        write: async (page) => void kept.push(page),
        flush: async () => ({ rows: table.committed.length }),
        suspend: async () => {
          for (const page of kept) await writer.write(page);
          kept = [];
          await writer.flush();
          return { target: 'memory' };
        },
      };
    };
    return writerMutant('shows the rows of an endless source as soon as they are committed', spoil);
  })(),

  'begins what never ends anew': mutant('resumes an endless source after a crash', (sink, table) => ({
    ...sink,
    open: (context) => {
      if (context.isEndless) table.committed = [];
      return sink.open(
        context.isEndless && context.resumeAt
          ? { ...context, resumeAt: { sinkPosition: { rows: 0 }, isSealed: false } }
          : context,
      );
    },
  })),

  'clears away what is suspended': writerMutant('is suspended, and resumes later', (_writer, _context, table) => ({
    suspend: async () => {
      table.committed = [];
      return { target: 'memory' };
    },
  })),

  'can be opened again only when it was closed': onceOpen(
    'has the same result as an undisturbed export after one that fails before any of its steps',
    [],
  ),

  'can be opened again only when it was given up': onceOpen(
    'has the same result as an undisturbed export after one that dies before any of its steps',
    ['abort'],
  ),

  'clears away what it has just finished': (() => {
    const spoil = (writer: Writer, _context: Context, table: Table): Partial<Writer> => {
      let isClosed = false;
      return {
        close: () => {
          isClosed = true;
          return writer.close();
        },
        abort: async (reason, how) => {
          if (isClosed) table.committed = [];
          else await writer.abort(reason, how);
        },
      };
    };
    return writerMutant(
      'has the same result as an undisturbed export after one that fails after any of its steps',
      spoil,
    );
  })(),

  'starts nothing over that was not begun': (() => {
    const spoil = (sink: Rows, table: Table & { isBegun?: boolean }): Rows => ({
      ...sink,
      open: async (context) => {
        if (context.restart && !table.isBegun) throw new Error('There is nothing to replace.');
        table.isBegun = true;
        return sink.open(context);
      },
    });
    return mutant('has the same result as an undisturbed export after one that dies after any of its steps', spoil);
  })(),
};

/** A lock that nobody takes from the dead. */
function onceOpen(caughtBy: string, endedBy: readonly 'abort'[]) {
  return mutant(caughtBy, (sink, table: Table & { isOpen?: boolean }) => ({
    ...sink,
    open: async (context) => {
      if (table.isOpen) throw new Error('It is still open.');
      table.isOpen = true;
      const writer = await sink.open(context);
      return {
        ...writer,
        close: () => {
          table.isOpen = false;
          return writer.close();
        },
        abort: (...how) => {
          table.isOpen = !endedBy.includes('abort');
          return writer.abort(...how);
        },
      };
    },
  }));
}
