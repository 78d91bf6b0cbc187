/** Runs a command with the arguments after its name. The result is the exit code of the process. */
export type Command = (args: string[]) => Promise<number>;

/** Commands by name, each with its description and the file that implements it. */
export type Commands = Readonly<
  Record<string, { readonly description: string; readonly load: () => Promise<{ readonly run: Command }> }>
>;

/** A command that needs no file of its own. */
export function command(description: string, run: Command): Commands[string] {
  return { description, load: async () => ({ run }) };
}

/**
 * Runs the command that the first argument names. Without a name, or with `help`, prints the list of commands.
 *
 * @param program the preceding arguments: `tapwire`, `tapwire processor`
 */
export async function runCommand(program: string, commands: Commands, [name, ...args]: string[]): Promise<number> {
  const command = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) return (await command.load()).run(args);
  const width = Math.max(...Object.keys(commands).map(({ length }) => length));
  const list = Object.entries(commands).map(([each, { description }]) => `  ${each.padEnd(width)}  ${description}`);
  const usage = `usage: ${program} COMMAND [options]\n\n${list.join('\n')}\n`;
  const isAsked = name === undefined || name === 'help' || name === '--help';
  if (isAsked) console.log(usage);
  else console.error(`${program}: unknown command ${name}\n\n${usage}`);
  return isAsked ? 0 : 2;
}
