import type { Variables } from '../variables.js';
import type { Finding } from './finding.js';

const subject = 'proxy';

/** Which way requests take, as far as the environment says. Credentials in a proxy's address are not shown. */
export function proxyFinding(variables: Variables): Finding {
  const found: string[] = [];
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY']) {
    const value = variables[name.toLowerCase()] || variables[name];
    if (!value) continue;
    const origin = originOf(value);
    if (origin === undefined)
      return {
        level: 'fail',
        subject,
        text: `${name} is no address. Give one like http://proxy.example.com:3128, or unset it.`,
      };
    found.push(`${name} is ${origin}`);
  }
  const exceptions = variables['no_proxy'] || variables['NO_PROXY'];
  if (exceptions && found.length > 0) found.push(`but not for ${exceptions}`);
  if (found.length === 0) found.push('none is set');
  if (variables['NODE_EXTRA_CA_CERTS']) found.push(`certificates from ${variables['NODE_EXTRA_CA_CERTS']}`);
  return { level: 'ok', subject, text: found.join(', ') };
}

function originOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  return host === '' ? undefined : `${protocol}//${host}`;
}
