// A suite under the runner that comes with Node.js.
import test from 'node:test';
import { memoryState } from '@sluice/core';
import { testStateStore } from '../../src/index.js';

testStateStore({ test, factory: () => ({ store: memoryState() }) });
