import { readFileSync } from 'node:fs';

/** The page's address that a command has printed to a pipe, with the token of the file that it names; `undefined` before. */
export function dashboardAddress(stderr: string): string | undefined {
  const [, address, file] =
    /^Dashboard: (\S+#)TOKEN \(TOKEN is in (.+)\)$/m.exec(stderr) ??
    /^{"event":"dashboard","url":"(\S+#)TOKEN","tokenFile":"(.+)"}$/m.exec(stderr) ??
    [];
  return file === undefined ? undefined : `${address}${readFileSync(file, 'utf8').trimEnd()}`;
}
