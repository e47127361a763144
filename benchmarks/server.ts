// The sandbox in a process of its own, so that it takes none of the measured process's time. It ends with whoever started it.
import { startSandbox } from '@sluice/sandbox';

const sandbox = await startSandbox({ holdings: Number(process.argv[2]), owners: 1 });
const { aptosUrl, apiKey, owners } = sandbox;
process.send?.({ aptosUrl, apiKey, owners });
process.once('disconnect', () => {
  void sandbox.close();
});
