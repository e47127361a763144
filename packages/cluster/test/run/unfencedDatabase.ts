import type { Database, Session } from '../../../tables/src/sql/database.js';

/** The condition by which a transaction finds out that another claim has the partition. */
const fence = "AND claim = ? AND saves = ? AND state = 'open'";

/** The fault that tests have to find: transactions of a claim that was taken over are accepted. */
export function unfencedDatabase(database: Database): Database {
  return {
    ...database,
    async connect(signal) {
      const connection = await database.connect(signal);
      return {
        transaction: (work) => connection.transaction((session) => work(unfencedSession(session))),
        close: () => connection.close(),
      };
    },
  };
}

function unfencedSession(session: Session): Session {
  return {
    ...session,
    run: (sql, ...parameters) =>
      session.run(sql.replace(fence, 'AND (claim = ? OR true) AND (saves = ? OR true)'), ...parameters),
  };
}
