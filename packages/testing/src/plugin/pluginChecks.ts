import type { Hooks } from '@sluice/core';
import { checkPlugin, type HookName } from '@sluice/core/kit';
import { catchFailure, check, checkSame, checkSluiceError, show } from '../check.js';
import { calm } from '../calm.js';
import { Skipped, type Checks } from '../suite.js';
import { hookNames, sampleEvents } from './sampleEvents.js';
import { UsedPlugin, type PluginSetting } from './usedPlugin.js';

/** What a client and its other plugins rely on. */
export const pluginChecks: Checks<PluginSetting> = {
  'is a plugin that always has the same name, and can be used': async (setting) => {
    const { fixture } = setting;
    const { name } = checkPlugin(fixture.plugin());
    checkSame(fixture.plugin().name, name, 'The name of the plugin when it is made again');
    const used = UsedPlugin.on(setting);
    check(name in used.client, `The client has no namespace ${show(name)}.`);
  },

  'requests nothing during its setup': async (setting) => {
    const used = UsedPlugin.on(setting);
    await calm();
    checkSame(used.requests, 0, 'The number of requests when a plugin was set up and not used');
  },

  'is disposed of without an error, and can be used again on another client': async (setting) => {
    for (const time of ['first', 'second']) {
      const used = UsedPlugin.on(setting);
      await used.close();
      checkSame(
        used.disposed.filter((name) => name === used.plugin.name).length,
        1,
        `The number of disposals on the ${time} client`,
      );
      used.checkFaults();
    }
  },

  'makes its requests through its own client': async (setting) => {
    const one = UsedPlugin.on(setting);
    const other = UsedPlugin.on(setting);
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

  'ends with its client': async (setting) => {
    const used = UsedPlugin.on(setting);
    await used.use();
    await used.close();
    const { requests } = used;
    const failure = await catchFailure(() => used.use());
    checkSluiceError(failure, 'A plugin that is used when its client is closed must reject with a SluiceError');
    check(used.requests <= requests + 1, 'A plugin retries although its client is closed.');
  },

  'has hooks that accept every event and throw nothing': async (setting) => {
    const { hooks } = UsedPlugin.on(setting).plugin;
    if (!hooks) throw new Skipped('`hooks` of the plugin');
    for (const name of hookNames) await callHook(setting, name, hooks[name]);
  },

  'reveals no API key': async (setting) => {
    const used = UsedPlugin.on(setting);
    await used.use();
    await used.close();
    const shownTexts = {
      'its namespace': show(used.api),
      'its state': used.saved.join(),
      'its events': JSON.stringify(used.events),
    };
    for (const [where, text] of Object.entries(shownTexts))
      check(!text.includes(used.apiKey), `The API key is in ${where}.`);
    used.checkFaults();
  },

  'refuses invalid options before it requests anything': async (setting) => {
    const { fixture } = setting;
    if (!fixture.refused) throw new Skipped('`refused` of the fixture');
    const used = UsedPlugin.on(setting);
    for (const [at, refused] of fixture.refused.entries()) {
      const call = catchFailure(() => refused(used.api));
      const failure = await setting.trial.inTime(call, `refused[${at}] did not settle`);
      checkSluiceError(failure, `refused[${at}] must throw a ConfigError`);
      checkSame(used.requests, 0, `The number of requests when refused[${at}] was refused`);
    }
  },

  'names its requirements, and is disposed of before them': async (setting) => {
    const { fixture } = setting;
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
    const alone = new UsedPlugin(setting);
    const failure = await catchFailure(() => alone.setUp());
    checkSluiceError(failure, `A client without ${requires.join(' and ')} must refuse it with a PluginError`, 'plugin');
    const used = UsedPlugin.on(setting);
    await used.close();
    checkSame(used.disposed[0], used.plugin.name, 'The plugin that was disposed of first');
  },
};

async function callHook<Name extends HookName>({ trial }: PluginSetting, name: Name, hook: Hooks[Name]): Promise<void> {
  if (!hook) return;
  for (const event of sampleEvents[name]) {
    const frozen = copyFrozen(event);
    const failure = await trial.inTime(
      catchFailure(() => hook(frozen)),
      `The hook ${name} did not settle`,
    );
    check(
      failure === undefined,
      `The hook ${name} fails with ${show(event)}: ${show(failure?.error)}. It may observe an event, but not change it.`,
    );
  }
}

function copyFrozen<E extends object>(event: E): E {
  const copy = structuredClone(event);
  for (const field of Object.values(copy)) Object.freeze(field);
  return Object.freeze(copy);
}
