#!/usr/bin/env node
import { processEnvironment } from './environment.js';
import { main } from './main.js';

process.exitCode = await main(process.argv.slice(2), processEnvironment(process));
