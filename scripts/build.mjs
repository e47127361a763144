// npm run build: the packages' dist folders.
import { install } from './install.mjs';
import { removeLeftovers } from './removeLeftovers.mjs';
import { quietly } from './run.mjs';

await install();
await quietly('turbo', ['run', 'build', '--log-order=grouped', '--log-prefix=none']);
removeLeftovers();
