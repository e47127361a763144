import type { Finding } from './finding.js';

const least = [20, 19] as const;

/** Whether this version of Node is new enough. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > least[0] || (major === least[0] && minor >= least[1]);
  return isEnough
    ? { level: 'ok', subject: 'Node', text: version }
    : { level: 'fail', subject: 'Node', text: `${version} is too old. Install ${least.join('.')} or newer.` };
}
