/** How a definition says something. */
export interface Need {
  /** The example of examples/kinds that shows it. */
  readonly example: string;
  /** `code` if it takes a function. */
  readonly by: 'options' | 'code';
}

const options = (example: string): Need => ({ example, by: 'options' });
const code = (example: string): Need => ({ example, by: 'code' });

/**
 * What APIs need besides a list of objects in JSON, a key, and one of the common ways to page. `undefined`: no
 * definition can say it.
 */
export const needs: Readonly<Record<string, Need | undefined>> = {
  'one page': options('sends all rows in one response'),
  'computed cursor': code('continues in another way'),
  'paging in headers': options('has the page or the cursor in a header of the request'),

  'rows in nested lists': options('has rows inside of lists'),
  'rows by a function': code('has rows as the values of an object'),
  'row filter': code('lists rows of other kinds, too'),
  'computed fields': code('has fields inside of other fields'),

  'three or more levels of parents': options('has rows below these, and more levels'),
  'field of a parent': options('lists rows for each row of another listing'),
  'a path of each parent': options('sends the path of its children with each row'),
  'parents times a list': options('has a listing for each pair of a parent and a type'),
  'field of a partition': options('has a listing per region, language or account'),
  'partition in the path': options('has a listing per region, language or account'),
  'partitions from parameters': code('has a listing for each of the given ids'),

  'windows of time': options('wants a beginning and an end, at most 30 days apart'),
  'time format of the request': options('wants the time in another format than its rows have'),
  'time inside of a larger value': options('wants the time inside of a filter or a query'),
  'time in a header or a form': options('takes a form'),
  'increments with offsets': options('filters by a time, and continues with offsets'),
  'newest first without a filter': options('lists the newest rows first, without a filter'),
  'neither filter nor order': options('has neither a filter nor an order'),

  'a status that means no rows': options('answers 404 where there are no rows'),
  'a parent without access': options('answers 403 or 404 for some of the parents'),
  'retries of other statuses': options('answers temporary errors with a status of its own'),
  'retries by the body of an error': options('says in the body what kind of error it is'),
  'waits by another header': code('says in a header of its own how long to wait'),
  'errors by a function': code('says in a header of its own how long to wait'),
  'cursors that expire': options('refuses a cursor that has expired'),

  'several secrets': options('wants several credentials'),
  'credentials chosen by the user': options('lets its users choose their credentials'),
  login: options('wants a token that a login gives'),
  'login by a function': code('wants a token that takes more than one request'),
  signatures: code('wants a signature of each request'),
  'a key in the body': options('wants a key in the body'),

  forms: options('takes a form'),
  CSV: code('sends CSV or XML'),
  XML: code('sends CSV or XML'),
  'lines of text': code('sends CSV or XML'),
  'gzip files': options('sends gzip files'),

  'own code for partitions': undefined,
  'own code for requests': undefined,
  'own code for increments': undefined,
  'own code for bodies': undefined,
  'streams found at run time': undefined,
  'asynchronous jobs': undefined,
  'another endpoint for increments': undefined,
  'groups of parents in one request': undefined,
  'base URL of each parent': undefined,
  'properties asked for in chunks': undefined,
  'several parent sources': undefined,
  'children that begin in the row of their parent': undefined,
  'files as rows': undefined,
  'zip files': undefined,
};
