/** Status lines for success. */
export const okLines = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 ',
  'HTTP/1.1 200',
  'HTTP/1.1 200 \u00e9\u00ff',
  `HTTP/1.1 200 ${'x'.repeat(2_000)}`,
];
/** Statuses in a status line. */
export const statuses = [
  200, 201, 202, 203, 204, 205, 206, 226, 299, 300, 301, 302, 304, 307, 308, 399, 400, 401, 403, 404, 408, 409, 410,
  418, 422, 425, 429, 431, 451, 499, 500, 501, 502, 503, 504, 505, 520, 524, 599, 600, 700, 999,
];
/** An informational response (RFC 9110, 15.2): after it a client waits for the final one. */
export const informationalLine = 'HTTP/1.1 100 Continue';
/** First lines of a response that are invalid, or not of a final response. */
export const badLines = [
  'HTTP/1.1 000 OK',
  'HTTP/1.1 099 OK',
  'HTTP/1.1 20 OK',
  'HTTP/1.1 2000 OK',
  'HTTP/1.1 -1 OK',
  'HTTP/1.1 abc OK',
  'HTTP/1.1',
  'HTTP/9.9 200 OK',
  'HTTP/1.1  200 OK',
  ' HTTP/1.1 200 OK',
  'http/1.1 200 ok',
  'ICY 200 OK',
  '200 OK',
  '',
  '\0',
  '{"result":[]}',
  informationalLine,
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade',
  'PRI * HTTP/2.0\r\n\r\nSM',
];
