import { machineBootClock } from '../../../src/node/bootClock.js';

const clock = machineBootClock();
const id = await clock.id();
process.stdout.write(JSON.stringify({ id, now: clock.now() }));
