import type { Client } from '@sluice/core';
import { filter, map, ReplaySubject, type Observable } from 'rxjs';

const mostKept = 100;

/** A client's warnings from now on. Whoever subscribes later gets the earlier ones too. */
export function warningsOf(client: Client): Observable<string> {
  const warnings = new ReplaySubject<string>(mostKept);
  client.events
    .pipe(
      filter((event) => event.type === 'warning'),
      map(({ message }) => message),
    )
    .subscribe(warnings);
  return warnings;
}
