/**
 * Spans and metrics of OpenTelemetry for the requests, exports and watches of a client.
 *
 * @module @sluice/opentelemetry
 */

export { openTelemetry, type OpenTelemetryApi, type OpenTelemetryOptions } from './openTelemetry.js';
