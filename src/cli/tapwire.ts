#!/usr/bin/env node
import { endWithReader, toCliError } from './command-end.ts';
import { COMMANDS } from './command-table.ts';
import { runTapwire } from './commands.ts';
import { bad } from './output.ts';

for (const stream of [process.stdout, process.stderr]) endWithReader(stream);
try {
  process.exitCode = await runTapwire(COMMANDS, process.argv.slice(2));
} catch (error) {
  const cliError = toCliError(error);
  if (cliError === undefined) throw error;
  console.error(bad(cliError.description, process.stderr));
  process.exitCode = cliError.exitCode;
}
