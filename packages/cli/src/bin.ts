#!/usr/bin/env node
import { keepCompiled } from './compileCache.js';
import { tierUpLate } from './lateTierUp.js';

// Before anything else is loaded, so that all of it is cached.
keepCompiled(process);
tierUpLate(process);
const { runProcess } = await import('./main.js');
await runProcess(process);
