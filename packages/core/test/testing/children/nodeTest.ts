// A suite under the runner that comes with Node.js.
import test from 'node:test';
import { memoryState } from '../../../src/index.js';
import { testStateStore } from '../../../src/testing/index.js';

testStateStore({ test, factory: () => ({ store: memoryState() }) });
