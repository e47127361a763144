/**
 * A local page that shows what a client does.
 *
 * @module @sluice/dashboard
 */

// The plugin
export { dashboard, openDashboard } from './dashboard.js';
export type { Dashboard, DashboardOptions, OpenDashboard } from './dashboard.js';

// What is shown
export type { About, ClusterView, Ending, Outcome, Past, PastRow, WorkerView } from './snapshot.js';
