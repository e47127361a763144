import { aroundEach } from 'vitest';
import { inScopeOf } from './testScope.js';

aroundEach((runTest, test) => inScopeOf(test, runTest));
