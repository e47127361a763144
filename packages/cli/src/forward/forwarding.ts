import type { DeliveryTally } from './deliveryTally.js';
import type { ForwardPlaces } from './forwardPlaces.js';

/** What is known of a forward while it runs. */
export interface Forwarding extends ForwardPlaces {
  readonly tally: DeliveryTally;
}
