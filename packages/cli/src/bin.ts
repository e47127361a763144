#!/usr/bin/env node
import { keepCompiled } from './compileCache.js';
import { tierUpLate } from './lateTierUp.js';

// Before all the rest is loaded, so that it is kept too.
keepCompiled(process);
tierUpLate(process);
const { runProcess } = await import('./main.js');
await runProcess(process);
