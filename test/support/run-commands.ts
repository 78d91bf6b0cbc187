import { type Commands, runCommand } from '../../src/cli/commands.ts';

/** Runs the commands of a group, such as `tapwire merchant`, in this process. */
export function runnerOf(commands: Commands): (args: string[]) => Promise<number> {
  return (args) => runCommand('tapwire', { Commands: commands }, args);
}
