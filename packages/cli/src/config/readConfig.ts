import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Plugin } from '@sluice/core';
import { parse, type ParseError, printParseErrorCode } from 'jsonc-parser';
import type { ForeignCode } from '../environment/untrustedCode.js';
import { UsageError } from '../errors/errors.js';
import { thrownText } from '../errors/thrown.js';
import { isApiName } from '../input/baseUrl.js';
import { whyUnreadable } from '../input/readInput.js';
import type { Config, ConfigFile } from './config.js';
import { type ConfigContent, decodeConfig, decodeDefaultExport } from './decodeConfig.js';
import { importError, importModule } from './importModule.js';
import { loadPlugin } from './loadPlugin.js';
import { refuseSecrets } from './refuseSecrets.js';

/**
 * What a configuration file says, with its plugins made.
 *
 * @param secrets texts that must not stand in it.
 * @throws UsageError, in a sentence that says where, if there is something in it that can't be used.
 */
export async function readConfig(
  file: ConfigFile,
  secrets: ReadonlySet<string>,
  foreignCode: ForeignCode,
): Promise<Config> {
  const text = await textOf(file);
  return await foreignCode(file.name, async () => {
    const { plugins: entries, defaults } = await contentOf(file, text, secrets);
    const plugins: Plugin[] = [];
    for (const [at, entry] of entries.entries()) {
      // So is a plugin left out with a condition. `undefined` is none: it is what a wrong name imports from TypeScript.
      if (entry === false || entry === null) continue;
      const plugin = await loadPlugin(entry, at, file);
      checkName(plugin, plugins, file);
      plugins.push(plugin);
    }
    return { file, plugins, defaults };
  });
}

/** Only of a regular file: a pipe that nobody writes to would be read for ever. */
async function textOf({ path, name }: ConfigFile): Promise<string> {
  try {
    const found = await stat(path);
    if (found.isFile() || found.isDirectory()) return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${name} can't be read: ${whyUnreadable(error)}.`);
  }
  throw new UsageError(`${name} can't be read: it is not a regular file, but a pipe or a device.`);
}

/** A client would refuse it too, in words of its own. */
function checkName({ name }: Plugin, before: readonly Plugin[], file: ConfigFile): void {
  if (isApiName(name))
    throw new UsageError(
      `A plugin of ${file.name} is named "${name}", as an API that sluice itself brings along. Rename it, or leave it out and set defaults.${name}Url.`,
    );
  if (before.some((other) => other.name === name))
    throw new UsageError(
      `Two plugins of ${file.name} are named "${name}". Use each once, and rename one of two that clash.`,
    );
}

async function contentOf(file: ConfigFile, text: string, secrets: ReadonlySet<string>): Promise<ConfigContent> {
  if (extname(file.path) === '.json') {
    const content = decodeConfig(parseJson(text, file.name), file.name);
    refuseSecrets(content, file.name, secrets);
    return content;
  }
  try {
    const content = decodeConfig(await decodeDefaultExport(await importModule(file.path), file.name), file.name);
    // What plugins are made with may come from the environment, and is theirs.
    refuseSecrets(content.defaults, file.name, secrets);
    return content;
  } catch (error) {
    throw importError(error, file);
  }
}

/** What a JSON text says. @throws UsageError with the place where it is none; `name` is what the text is called. */
function parseJson(text: string, name: string): unknown {
  const plain = text.replace(/^\ufeff/, '');
  try {
    return JSON.parse(plain);
  } catch (error) {
    throw new UsageError(`${name} is not valid JSON: ${placedFault(plain) ?? thrownText(error)}`);
  }
}

/** What Node says of a fault has no line in it. */
function placedFault(text: string): string | undefined {
  const faults: ParseError[] = [];
  parse(text, faults, { disallowComments: true });
  const [first] = faults;
  if (!first) return undefined;
  const before = text.slice(0, first.offset).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return `${inWords(printParseErrorCode(first.error))} at line ${String(before.length)}, column ${String(column)}.`;
}

/** @example inWords('CommaExpected') // 'comma expected' */
function inWords(code: string): string {
  return code.replace(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
