import { script } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import type { Run } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { exitCodes } from '../errors/errors.js';

/** The program, as the package that completes takes it. */
type Program = Parameters<typeof tab>[0];

/** `sluice completion SHELL`: prints a script that asks `sluice complete` at each Tab. */
export const completion: Run<'completion'> = async ({ shell }, { stdout }) => {
  // It prints the script itself.
  script(shell, 'sluice', 'sluice');
  // Bash's knows when files are wanted, but not that they are there by default.
  if (shell === 'bash') await stdout.write('\ncomplete -o default -F __sluice_complete sluice\n');
  return exitCodes.done;
};

/** The reply that lets a shell complete files. */
const files = ':0\n';

/**
 * Lets a program answer `complete -- WORDS`, which the scripts call with all words of a command line behind the first.
 * Returns whether it has answered already, since a value is wanted that only the file system knows.
 */
export async function answerCompletion(
  program: Program,
  words: readonly string[],
  { stdout }: Environment,
): Promise<boolean> {
  if (wantsFile(program, words)) {
    await stdout.write(files);
    return true;
  }
  tab(program, { completionCommandName: 'completion' });
  return false;
}

/** Whether the last word is the value of an option that takes any text. */
function wantsFile(program: Program, words: readonly string[]): boolean {
  let command: Program = program;
  for (const word of words) command = command.commands.find((each) => each.name() === word) ?? command;
  const option = command.options.find(({ long }) => long === words.at(-2));
  return option !== undefined && (option.required || option.optional) && option.argChoices === undefined;
}
