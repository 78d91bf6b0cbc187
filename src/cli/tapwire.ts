#!/usr/bin/env node
import { toCliError } from './cli-error.ts';
import { COMMANDS } from './command-table.ts';
import { runTapwire } from './commands.ts';

try {
  process.exitCode = await runTapwire(COMMANDS, process.argv.slice(2));
} catch (error) {
  const cliError = toCliError(error);
  if (cliError === undefined) throw error;
  console.error(cliError.description);
  process.exitCode = cliError.exitCode;
}
