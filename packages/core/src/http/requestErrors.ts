import { type Advice, DecodeError, NetworkError, RequestTimeoutError, ResponseTooLargeError } from '../errors.js';
import { isCertificateFault } from '../isTransient.js';
import type { AdapterFault } from './adapter/adapter.js';
import type { Timeouts } from './requestTimes.js';
import type { AttemptFault } from './response/statusFault.js';

/** The error of an attempt without a response. `limits` (ms, bytes) is for the message. */
export function connectionFault(
  fault: AdapterFault,
  route: string,
  limits: {
    readonly timeouts: Timeouts;
    readonly maxBodyBytes: number;
    readonly url: string;
    /** The option that has the address, in words. */
    readonly address: 'base URL' | 'URL';
    /** Whether the address is right, since a server has responded there before: then its certificate may be mended, too. */
    readonly isKnown: boolean;
  },
): AttemptFault {
  const { address } = limits;
  const { host, hostname } = new URL(limits.url);
  const because = fault.platformCode === undefined ? '' : ` (${fault.platformCode})`;
  const details = { route, platformCode: fault.platformCode };
  /** The server answers, but with what can't be read: that would come again. */
  const unreadable = (what: string): AttemptFault => ({
    error: new DecodeError(`${route}: the server responded, but with ${what}`, { ...details, path: '' }),
    retry: false,
  });
  const tooLarge = (what: string, cap: { maxBodyBytes?: number }, advice: readonly Advice[]): AttemptFault => ({
    error: new ResponseTooLargeError(`${route}: the server responded with ${what}`, { route, ...cap }, advice),
    retry: false,
  });
  switch (fault.kind) {
    case 'connect-timeout':
      return { error: timeoutError(route, 'connect', limits.timeouts.connect, host), retry: true, isUnsent: true };
    case 'late':
      return { error: timeoutError(route, 'response', limits.timeouts.response), retry: true };
    case 'network':
    case 'stale': {
      if (noHttp1.test(fault.platformCode ?? '')) return { ...unreadable(notHttp(fault, address)), isUnsent: true };
      const message = `${route}: ${host} did not respond: the connection failed${because}. ${adviceForNetwork(fault, address)}`;
      const retry = limits.isKnown || mayConnectLater(fault.platformCode, hostname);
      return { error: new NetworkError(message, { details }), retry, isUnsent: wasUnsent(fault.platformCode) };
    }
    case 'outdated': {
      const message = `${route}: ten permits in a row were too old when the request could be written. Is this process too busy, or its limiter too far away?`;
      return { error: new NetworkError(message, { details }), retry: false, isUnsent: true };
    }
    case 'not-http':
      return unreadable(notHttp(fault, address));
    case 'cut-body': {
      const message = `${route}: the server responded, but the body broke off before its end, or can't be decompressed${because}. Try again later.`;
      return { error: new DecodeError(message, { ...details, path: '', excerpt: '' }), retry: true };
    }
    case 'encoding':
      return unreadable(
        `a body that is not what its Content-Encoding says, or whose encoding is not supported${because}. Does a proxy in between change it? gzip and br are requested.`,
      );
    case 'charset':
      return unreadable(`a charset that this platform can't decode${because}. The API should send UTF-8.`);
    case 'not-text':
      return unreadable(
        `bytes that are not ${(fault.platformCode ?? 'utf-8').toUpperCase()} text. Is the ${address} right? Text in another charset needs it in the Content-Type.`,
      );
    case 'too-large': {
      const { maxBodyBytes } = limits;
      return tooLarge(`more than ${String(maxBodyBytes)} bytes.`, { maxBodyBytes }, [
        { kind: 'lower', option: 'pageSize' },
        { kind: 'raise', option: 'maxBodyBytes' },
      ]);
    }
    case 'too-heavy':
      return tooLarge(
        "a document that would take more than a sixteenth of this process's memory once parsed. Raise the memory with Node's --max-old-space-size.",
        {},
        [{ kind: 'lower', option: 'pageSize' }],
      );
  }
}

export function timeoutError(
  route: string,
  deadline: 'connect' | 'response' | 'total',
  ms: number,
  host = 'the server',
): RequestTimeoutError {
  const what = {
    connect: `no connection to ${host}`,
    response: 'no complete response',
    total: 'not completed, retries included,',
  }[deadline];
  return new RequestTimeoutError(`${route}: ${what} within ${String(ms)} ms.`, {
    details: { route, deadline, ms },
    advice: [{ kind: 'wait' }, { kind: 'raise', option: `timeouts.${deadline}` }],
  });
}

/** @param route of the request that gets no response, if there is one */
export function closedError(route?: string): NetworkError {
  const what = route === undefined ? 'No request is sent any more' : `${route}: no response`;
  return new NetworkError(`${what}, because the client was closed. Create a new client to continue.`, {
    fault: 'caller',
    details: { ...(route !== undefined && { route }), isClosed: true },
  });
}

export function linkTimeoutError(route: string, ms: number): RequestTimeoutError {
  const message = `${route}: not completed by its links within ${String(ms)} ms. Does one of them wait for something that never happens?`;
  return new RequestTimeoutError(message, {
    details: { route, deadline: 'total', ms },
    advice: [{ kind: 'raise', option: 'timeouts.total' }],
  });
}

/** What a server sent that is not a response of HTTP/1.1, and what to do. */
function notHttp({ platformCode = '' }: AdapterFault, address: string): string {
  if (/HEADERS?_OVERFLOW/.test(platformCode))
    return `more headers than Node.js takes, which is 16 kB (${platformCode}). Raise that with NODE_OPTIONS=--max-http-header-size=65536.`;
  if (platformCode === 'HTTP/2' || noHttp1.test(platformCode))
    return 'HTTP/2 only, and this client speaks HTTP/1.1. Put a proxy in between that translates, or use another address of the API.';
  return `something that is not HTTP/1.1 (${platformCode}). Check the ${address} and its port.`;
}

/** The server has none of the protocols that the connection offered (RFC 7301, 3.2). */
const noHttp1 = /^ERR_SSL_\w*ALERT_NO_APPLICATION_PROTOCOL$/;

function adviceForNetwork({ platformCode = '' }: AdapterFault, address: string): string {
  return isCertificateFault(platformCode)
    ? 'Its certificate is not trusted: if your network has an authority of its own, name it in NODE_EXTRA_CA_CERTS.'
    : `Check the network and the ${address}.`;
}

/** TLS versions that do not match, and a proxy that refuses the request. Both are configuration, so they stay. */
const tlsMismatch =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|UNSUPPORTED_PROTOCOL|\w*ALERT_(PROTOCOL_VERSION|HANDSHAKE_FAILURE))$/;
const refusingProxy = /^the proxy responded with 4(?!08|29)\d\d$/;

/** Whether another connection may succeed. */
export function mayConnectLater(code: string | undefined, host: string): boolean {
  if (code !== undefined && (isCertificateFault(code) || tlsMismatch.test(code) || refusingProxy.test(code)))
    return false;
  return isHostName(host);
}

/** Codes of connections that were never opened. On other platforms than Node.js, there are none. */
const unopened = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|the proxy responded with \d+)$/;

/** Whether a failed request certainly was not sent, so that nothing was carried out. */
function wasUnsent(code: string | undefined): boolean {
  return code !== undefined && unopened.test(code);
}

/** Whether a name could exist in DNS (RFC 1035, section 2.3.4; `.invalid` never does, RFC 6761). IP addresses pass. */
function isHostName(host: string): boolean {
  const name = host.replace(/\.$/, '');
  return (
    name.length <= 253 && name.split('.').every((label) => /^.{1,63}$/.test(label)) && !/(^|\.)invalid$/i.test(name)
  );
}
