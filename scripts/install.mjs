import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { pnpmFolder, quietly, root, run } from './run.mjs';

const stamp = join(root, 'node_modules/.cache/installed');
const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`);
const tests = ['test/browser', 'test/packages', 'test/sdk'];
const folders = ['.', 'examples', ...tests, ...packages].filter((folder) =>
  existsSync(join(root, folder, 'package.json')),
);

/** Brings node_modules to what the lockfile says. Where it is there already, nothing runs and no network is needed. */
export async function install() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    console.error(`Sluice needs Node 20.19 or newer. This is Node ${process.versions.node}.`);
    process.exit(1);
  }
  const isComplete = folders.every((folder) => existsSync(join(root, folder, 'node_modules')));
  if (isComplete && read(stamp) === fingerprint()) return;

  console.error('Installing dependencies …');
  await installPnpm();
  await quietly('pnpm', ['install', '--frozen-lockfile', '--prefer-offline']);
  writeFileSync(stamp, fingerprint());
}

/** Changes with what is asked for, and with what pnpm has last put into node_modules (its own copy of the lockfile). */
function fingerprint() {
  const asked = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...folders.map((folder) => join(folder, 'package.json'))];
  const files = [...asked, 'node_modules/.pnpm/lock.yaml'].map((file) => read(join(root, file)));
  return createHash('sha256')
    .update(JSON.stringify([process.platform, process.arch, ...files]))
    .digest('hex');
}

/** The pnpm that package.json names. npm keeps the download, so that the next clone needs no network. */
async function installPnpm() {
  const [name, version] = JSON.parse(read(join(root, 'package.json'))).packageManager.split('@');
  const present = read(join(pnpmFolder, 'node_modules', name, 'package.json'));
  if (present && JSON.parse(present).version === version) return;
  mkdirSync(pnpmFolder, { recursive: true });
  const npmInstall = ['install', '--prefix', pnpmFolder, '--no-save', '--no-audit', '--no-fund', `${name}@${version}`];
  // npm's cache first: offline, npm would otherwise try for minutes to hear what it has already.
  const isCached = (await run('npm', [...npmInstall, '--offline'], { stdio: 'ignore' })) === 0;
  if (!isCached) await quietly('npm', npmInstall);
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
