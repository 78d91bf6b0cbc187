#!/usr/bin/env node
import { StartError } from '../errors.ts';

/** One file per command; each exports `run(args)` and gives the process's exit code. */
const COMMANDS: Readonly<Record<string, { readonly says: string; readonly load: () => Promise<{ run: Command }> }>> = {
  demo: { says: 'start everything, submit demo taps, and end (--stay: keep running)', load: () => import('./demo.ts') },
  start: { says: 'start the gateway (--role all|api|worker)', load: () => import('./start.ts') },
  migrate: { says: 'bring the database to this version and end', load: () => import('./migrate.ts') },
  'demo-tenants': { says: 'create the demo tenants in the database and end', load: () => import('./demo-tenants.ts') },
  tap: { says: 'submit a tap as a phone would (--amount 10.00 --currency ZAR)', load: () => import('./tap.ts') },
  tlv: { says: 'show a BER-TLV blob, card data withheld (HEX|FILE|-)', load: () => import('./tlv.ts') },
  simulate: { says: 'run simulated switches', load: () => import('./simulate.ts') },
};

type Command = (args: string[]) => Promise<number>;

async function main([name, ...args]: string[]): Promise<number> {
  const command = name === undefined ? undefined : COMMANDS[name];
  if (!command) {
    const list = Object.entries(COMMANDS).map(([each, { says }]) => `  ${each.padEnd(13)} ${says}`);
    console.error(`usage: tapwire COMMAND [options]\n\n${list.join('\n')}\n`);
    return name === undefined || name === 'help' || name === '--help' ? 0 : 2;
  }
  const { run } = await command.load();
  return run(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof StartError) console.error(`tapwire: ${error.reason}`);
  else if ((error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS'))
    console.error(`tapwire: ${(error as Error).message}`);
  else throw error;
  process.exitCode = 1;
}
