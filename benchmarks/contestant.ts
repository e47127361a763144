// The process of a contestant, so that contestants do not affect each other: performs a job whenever it is told to.
import type { Contestant, Job } from './contestants/contestant.js';
import type { Effort } from './arena.js';

const { exportHoldings }: { readonly exportHoldings: Contestant } = await import(process.argv[2] ?? '');
process.on('message', (job: Job) => {
  void run(job);
});
process.once('disconnect', () => process.exit());

async function run(job: Job): Promise<void> {
  const began = performance.now();
  const before = process.cpuUsage();
  const rows = await exportHoldings(job);
  const { user, system } = process.cpuUsage(before);
  const effort: Effort = {
    rows,
    ms: performance.now() - began,
    cpu: (user + system) / 1000,
    // In kilobytes, as the system counts them.
    peakRss: process.resourceUsage().maxRSS * 1024,
  };
  process.send?.(effort);
}
