import { execFile } from 'node:child_process';

/** Installs the dependencies of a folder's package.json, from npm's cache if possible. */
export function npmInstall(folder: string): Promise<void> {
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  return new Promise((resolve, reject) => {
    execFile('npm', args, { cwd: folder, shell: process.platform === 'win32' }, (error, _, said) => {
      if (error) reject(new Error(`npm install failed in ${folder}:\n${said}`, { cause: error }));
      else resolve();
    });
  });
}
