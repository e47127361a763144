import { testPlugin } from '@sluice/testing';
import { describe } from 'vitest';
import { allBut } from '../../testing/test/offering.js';
import { openTelemetry } from '../src/index.js';
import { telemetry } from './telemetry.js';

describe('G5 the plugin for OpenTelemetry', () => {
  testPlugin({
    ...allBut('`use` of the fixture', '`refused` of the fixture', 'a plugin that requires others'),
    factory: () => {
      const { options } = telemetry();
      return { plugin: () => openTelemetry(options), apiKey: 'a-key-of-ours' };
    },
  });
});
