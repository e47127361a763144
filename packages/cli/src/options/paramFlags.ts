import type { SourceDescription } from '@sluice/core/define';
import { type Command, Option } from 'commander';
import { toFlag } from './option.js';

type ParamDescription = NonNullable<SourceDescription['params']>[number];

/**
 * Adds the flags of a source's parameters to a command. Its own flags win: a parameter whose flag is taken, or whose name
 * makes none, is set with `--param`, whose help then names it.
 */
export function addParamFlags(command: Command, { name: source, params = [] }: SourceDescription): void {
  const taken = new Set(['--help', ...ownFlags(command)]);
  const others: string[] = [];
  command.optionsGroup(`Parameters of ${source}:`);
  for (const param of params) {
    const flags = flagsOf(param);
    const isFree = flags.length > 0 && !flags.some(({ long = '' }) => taken.has(long) || ofSecrets.test(long));
    if (!isFree) others.push(param.name);
    for (const flag of isFree ? flags : []) {
      taken.add(flag.long);
      command.addOption(flag);
    }
  }
  const own = command.options.find(({ long }) => long === '--param');
  if (own && others.length > 0) own.description += ` (the only way to set ${others.join(', ')})`;
}

/** A command line with these is refused, so that no secret is in the list of processes. */
const ofSecrets = /^--(api-?key|secret)$/;

/** The flags of a command and of those above it. */
function ownFlags({ options, parent }: Command): readonly (string | undefined)[] {
  return [...options.map(({ long }) => long), ...(parent ? ownFlags(parent) : [])];
}

/** Adds its values to those of `--param`, with which a command reads them. Of `--owner 0x1` that is `--owner ownerAddresses=0x1`. */
class ParamFlag extends Option {
  constructor(flags: string, help: string, assignment: string, separator?: string) {
    super(flags, help);
    this.argParser((text: string, before: readonly string[] | undefined) => [
      ...(before ?? []),
      ...(separator === undefined ? [text] : text.split(separator)).map((each) => `${this.long} ${assignment}${each}`),
    ]);
  }

  override attributeName(): string {
    return 'param';
  }
}

/** What stands for a value, by the type of JSON Schema. */
const placeholders: Readonly<Record<string, string>> = {
  array: 'value...',
  object: 'json',
  integer: 'n',
  number: 'n',
};

/** The flag of a parameter, if it declares one. */
export function declaredFlag({ flag }: ParamDescription): string | undefined {
  return flag === undefined ? undefined : toFlag(flag);
}

/** Commander takes a flag that begins with "no" as the opposite of another one. */
const flagForm = /^--(?!no-)[a-z][a-z\d]*(?:-[a-z\d]+)*$/;

/** The names that `--param` takes. */
const settable = /^[A-Za-z_][\w.-]*$/;

function flagsOf(param: ParamDescription): ParamFlag[] {
  const { name, type = '', isRequired, description = '', fileFlag, separator } = param;
  const ownName = name.replace(/[_.]+/g, '-').replace(/^[A-Z]+|[A-Z]+(?![a-z])/g, (letters) => letters.toLowerCase());
  const long = declaredFlag(param) ?? toFlag(ownName);
  const longs = fileFlag === undefined ? [long] : [long, `--${fileFlag}`];
  if (!settable.test(name) || !longs.every((each) => flagForm.test(each))) return [];
  const help = `${description}${isRequired ? ' (required)' : ''}`.trim();
  if (type === 'boolean')
    return [
      new ParamFlag(long, help, `${name}=`).preset('true'),
      new ParamFlag(long.replace('--', '--no-'), '', `${name}=`).preset('false'),
    ];
  const own = new ParamFlag(
    `${long} <${placeholders[type] ?? 'value'}>`,
    help,
    `${name}${type === 'object' ? ':=' : '='}`,
    separator,
  );
  if (fileFlag === undefined) return [own];
  const ofFile = `file with one ${long} per line; # starts a comment; - for stdin`;
  return [own, new ParamFlag(`--${fileFlag} <file>`, ofFile, `${name}<=`)];
}
