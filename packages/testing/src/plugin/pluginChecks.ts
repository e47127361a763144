import { checkPlugin, SluiceError, type HookName, type Hooks } from '@sluice/core';
import { check, checkSame, shown } from '../check.js';
import { calm, inTime } from '../waiting.js';
import { Skipped, type Trial } from '../suite.js';
import type { PluginFixture } from './pluginFixture.js';
import { hookNames, sampleEvents } from './sampleEvents.js';
import { UsedPlugin } from './usedPlugin.js';

type PluginChecks = Readonly<Record<string, <Api extends object>(trial: Trial<PluginFixture<Api>>) => Promise<void>>>;

/** What a client and its other plugins rely on. */
export const pluginChecks: PluginChecks = {
  'is a plugin that always has the same name, and can be used': async (trial) => {
    const fixture = await trial.fixture();
    const { name } = checkPlugin(fixture.plugin());
    checkSame(fixture.plugin().name, name, 'The name of the plugin when it is made again');
    const used = UsedPlugin.on(trial, fixture);
    check(name in used.client, `The client has no namespace ${shown(name)}.`);
  },

  'requests nothing during its setup': async (trial) => {
    const used = UsedPlugin.on(trial, await trial.fixture());
    await calm();
    checkSame(used.requests, 0, 'The number of requests when a plugin was set up and not used');
  },

  'is disposed of without an error, and can be used again on another client': async (trial) => {
    const fixture = await trial.fixture();
    for (const time of ['first', 'second']) {
      const used = UsedPlugin.on(trial, fixture);
      await used.close();
      checkSame(
        used.disposed.filter((name) => name === used.plugin.name).length,
        1,
        `The number of disposals on the ${time} client`,
      );
      used.checkFaults();
    }
  },

  'makes its requests through its own client': async (trial) => {
    const fixture = await trial.fixture();
    const one = UsedPlugin.on(trial, fixture);
    const other = UsedPlugin.on(trial, fixture);
    await one.use();
    check(
      one.requests > 0,
      'The plugin made no request through its client: `use` of the fixture makes none, or it bypasses the limiter and the key.',
    );
    checkSame(other.requests, 0, 'The number of requests on one client when the plugin was used on another');
    await other.close();
    await one.use();
    one.checkFaults();
  },

  'ends with its client': async (trial) => {
    const used = UsedPlugin.on(trial, await trial.fixture());
    await used.use();
    await used.close();
    const { requests } = used;
    const outcome = await used.use().then(
      () => 'answered',
      (error: unknown) => error,
    );
    check(
      SluiceError.is(outcome),
      `A plugin that is used when its client is closed must reject with a SluiceError, not with ${shown(outcome)}.`,
    );
    check(used.requests <= requests + 1, 'A plugin retries although its client is closed.');
  },

  'has hooks that accept every event and throw nothing': async (trial) => {
    const { hooks } = UsedPlugin.on(trial, await trial.fixture()).plugin;
    if (!hooks) throw new Skipped('`hooks` of the plugin');
    for (const name of hookNames) await callHook(name, hooks[name], trial.timeout);
  },

  'reveals no API key': async (trial) => {
    const used = UsedPlugin.on(trial, await trial.fixture());
    await used.use();
    await used.close();
    const shownTexts = {
      'its namespace': shown(used.api),
      'its state': used.saved.join(),
      'its events': JSON.stringify(used.events),
    };
    for (const [where, text] of Object.entries(shownTexts))
      check(!text.includes(used.apiKey), `The API key is in ${where}.`);
    used.checkFaults();
  },

  'refuses invalid options before it requests anything': async (trial) => {
    const fixture = await trial.fixture();
    if (!fixture.refused) throw new Skipped('`refused` of the fixture');
    const used = UsedPlugin.on(trial, fixture);
    for (const [at, refused] of fixture.refused.entries()) {
      const call = (async () => refused(used.api))().then(
        () => 'a value',
        (error: unknown) => error,
      );
      const outcome = await inTime(call, `refused[${at}] did not settle`, trial.timeout);
      check(SluiceError.is(outcome), `refused[${at}] must throw a ConfigError, but its outcome is ${shown(outcome)}.`);
      checkSame(used.requests, 0, `The number of requests when refused[${at}] was refused`);
    }
  },

  'names its requirements, and is disposed of before them': async (trial) => {
    const fixture = await trial.fixture();
    const needs = fixture.needs?.().map(({ name }) => name) ?? [];
    const { requires = [] } = fixture.plugin();
    if (needs.length === 0 && requires.length === 0) throw new Skipped('a plugin that requires others');
    checkSame(
      [...requires].sort(),
      needs.filter((name) => requires.includes(name)).sort(),
      'The requirements of the plugin, which `needs` of the fixture provides,',
    );
    check(
      requires.length > 0,
      'The plugin requires nothing, though `needs` of the fixture says so: name it in `requires`.',
    );
    const alone = new UsedPlugin(trial, fixture);
    let refusal: unknown;
    try {
      alone.setUp();
    } catch (error) {
      refusal = error;
    }
    check(
      SluiceError.is(refusal, 'plugin'),
      `A client without ${requires.join(' and ')} must refuse it with a PluginError, not with ${shown(refusal)}.`,
    );
    const used = UsedPlugin.on(trial, fixture);
    await used.close();
    checkSame(used.disposed[0], used.plugin.name, 'The plugin that was disposed of first');
  },
};

async function callHook<Name extends HookName>(name: Name, hook: Hooks[Name], timeout: number): Promise<void> {
  if (!hook) return;
  for (const event of sampleEvents[name]) {
    const frozen = frozenCopy(event);
    const call = (async () => hook(frozen))().then(
      () => undefined,
      (error: unknown) => shown(error),
    );
    const failure = await inTime(call, `The hook ${name} did not settle`, timeout);
    check(
      failure === undefined,
      `The hook ${name} fails with ${shown(event)}: ${failure ?? ''}. It may observe an event, but not change it.`,
    );
  }
}

function frozenCopy<E extends object>(event: E): E {
  const copy = structuredClone(event);
  for (const field of Object.values(copy)) Object.freeze(field);
  return Object.freeze(copy);
}
