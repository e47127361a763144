/**
 * Local servers of both APIs and of a webhook receiver, with faults on demand.
 *
 * @module @sluice/sandbox
 */

// The server
export { startSandbox, type Sandbox } from './startSandbox.js';
export type { LocalServer } from './listen.js';
export type { AnswerShape, ShapeName } from './served/answerShape.js';
export type { EndpointName, SandboxOptions, SandboxRequest } from './sandboxOptions.js';

// Misbehaviour
export type { Fault, FaultName, FaultRates } from './faults.js';
export { resetSocket } from './resetSocket.js';

// Rows
export type { HoldingRow } from './served/holdingRow.js';
export type { CollectionFilter } from './served/holdings.js';
export type { JsonObject, Nested, StreamRow } from './served/streamRow.js';
export type { StreamPatch } from './served/streamBook.js';

// What happened
export type { LoggedRequest, SandboxCounts } from './requestLog.js';
export type { LoggedExchange, ServerCounts } from './serverLog.js';

// The receiver of webhooks
export { startReceiver, type Receiver, type ReceiverCounts } from './receiver/startReceiver.js';
export type { Delivery, ReceiverFailures, ReceiverOptions } from './receiver/receiverOptions.js';
export type { ReceiverAnswer, ReceiverFailure, SpoiltAnswer, StatusAnswer } from './receiver/receiverAnswer.js';
export type { DeliveredRecord } from './receiver/decodeRecords.js';
export type { AcceptedRecord } from './receiver/acceptedRecords.js';
export type { ReceivedRequest } from './receiver/deliveryListener.js';
