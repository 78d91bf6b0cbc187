/** What a command does with the words behind its name; the number is the process's exit code. */
export type Command = (args: string[]) => Promise<number>;

/** Commands by name: what each is for, and the file that has it. */
export type Commands = Readonly<
  Record<string, { readonly description: string; readonly load: () => Promise<{ readonly run: Command }> }>
>;

/** A command that needs no file of its own. */
export function command(description: string, run: Command): Commands[string] {
  return { description, load: async () => ({ run }) };
}

/**
 * Runs the command that the first word names. Without one, or with `help`, it tells which there are.
 *
 * @param program the words in front of it: `tapwire`, `tapwire processor`
 */
export async function runCommand(program: string, commands: Commands, [name, ...args]: string[]): Promise<number> {
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) return (await command.load()).run(args);
  const width = Math.max(...Object.keys(commands).map(({ length }) => length));
  const list = Object.entries(commands).map(([each, { description }]) => `  ${each.padEnd(width)}  ${description}`);
  const usage = `usage: ${program} COMMAND [options]\n\n${list.join('\n')}\n`;
  const isAsked = name === undefined || name === 'help' || name === '--help';
  if (isAsked) console.log(usage);
  else console.error(`${program}: there is no command ${name}\n\n${usage}`);
  return isAsked ? 0 : 2;
}
