import { readFile, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { parseJson as parseExactly, type Plugin } from '@sluice/core';
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

/** Reads a configuration file and creates its plugins. @param secrets texts that it must not contain. */
export async function readConfig(
  file: ConfigFile,
  secrets: ReadonlySet<string>,
  foreignCode: ForeignCode,
): Promise<Config> {
  const text = await readText(file);
  return await foreignCode(file.name, async () => {
    const { plugins: entries, ...others } = await readContent(file, text, secrets);
    const plugins: Plugin[] = [];
    for (const [at, entry] of entries.entries()) {
      // For conditional plugins. `undefined` is an error: in TypeScript, importing a wrong name gives `undefined`.
      if (entry === false || entry === null) continue;
      const plugin = await loadPlugin(entry, at, file);
      checkName(plugin, plugins, file);
      plugins.push(plugin);
    }
    return { file, plugins, ...others };
  });
}

/** Refuses a pipe, which might never end. */
async function readText({ path, name }: ConfigFile): Promise<string> {
  try {
    const found = await stat(path);
    if (found.isFile() || found.isDirectory()) return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${name} can't be read: ${whyUnreadable(error)}.`);
  }
  throw new UsageError(`${name} can't be read: it is not a regular file, but a pipe or a device.`);
}

/** The client would also refuse a name that is taken, but its message does not name the file. */
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

async function readContent(file: ConfigFile, text: string, secrets: ReadonlySet<string>): Promise<ConfigContent> {
  if (extname(file.path) === '.json') {
    const content = decodeConfig(parseJson(text, file.name), file.name);
    refuseSecrets(content, file.name, secrets);
    return content;
  }
  try {
    const content = decodeConfig(await decodeDefaultExport(await importModule(file.path), file.name), file.name);
    // Options of plugins may come from the environment, so they may contain secrets.
    refuseSecrets(content.defaults, file.name, secrets);
    return content;
  } catch (error) {
    throw importError(error, file);
  }
}

/**
 * Parses JSON; a number that would lose digits is text.
 *
 * @param name the file, for errors
 * @throws UsageError with line and column, if it is not valid JSON.
 */
function parseJson(text: string, name: string): unknown {
  const plain = text.replace(/^\ufeff/, '');
  try {
    return parseExactly(plain);
  } catch (error) {
    throw new UsageError(`${name} is not valid JSON: ${locatedError(plain) ?? thrownText(error)}`);
  }
}

/** The first syntax error with its line and column, which Node's error lacks. */
function locatedError(text: string): string | undefined {
  const errors: ParseError[] = [];
  parse(text, errors, { disallowComments: true });
  const [first] = errors;
  if (!first) return undefined;
  const before = text.slice(0, first.offset).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return `${inWords(printParseErrorCode(first.error))} at line ${String(before.length)}, column ${String(column)}.`;
}

/** @example inWords('CommaExpected') // 'comma expected' */
function inWords(code: string): string {
  return code.replace(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
