// Plays worlds in a process of its own, which the campaign watches: a loop of promises that never waits can only be ended from outside.
import { simulatePlatform } from './platform.js';

const platform = simulatePlatform();
// What keeps a function of the platform has to find the simulated one.
const { playSeeds } = await import('./playSeeds.js');

const [seed, seconds, first] = process.argv.slice(2);
const send = (message: object): void => void process.send?.(message);
await playSeeds({
  ...{ from: Number(seed), seconds: Number(seconds), endsWithFirst: first === 'true', platform },
  onWorld: send,
  onFound: send,
});
process.disconnect();
