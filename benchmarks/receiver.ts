// A receiver in a process of its own, which responds 5 ms after it has read a request. It exits with its parent
// process.
import { startReceiver } from '@sluice/sandbox';

const receiver = await startReceiver({ latency: 5 });
process.send?.({ url: receiver.url });
process.once('disconnect', () => {
  void receiver.close();
});
