// A receiver in a process of its own, which answers 5 ms after it has what it was sent. It ends with whoever started it.
import { startReceiver } from '@sluice/sandbox';

const receiver = await startReceiver({ latency: 5 });
process.send?.({ url: receiver.url });
process.once('disconnect', () => {
  void receiver.close();
});
