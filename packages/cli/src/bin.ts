#!/usr/bin/env node
import { keepCompiled } from './compileCache.js';

// Before all the rest is loaded, so that it is kept too.
keepCompiled(process);
const { runProcess } = await import('./runProcess.js');
await runProcess(process);
