#!/usr/bin/env node
import { toCliError } from './cli-error.ts';
import { type Commands, runCommand } from './commands.ts';

/** One file per command; each exports `run(args)` and gives the process's exit code. */
const COMMANDS: Commands = {
  demo: {
    description: 'start everything, submit demo taps, and end (--stay: keep running)',
    load: () => import('./demo/demo.ts'),
  },
  start: { description: 'start the gateway (--role all|api|worker)', load: () => import('./start.ts') },
  migrate: { description: 'bring the database to this version and end', load: () => import('./migrate.ts') },
  init: {
    description: 'make the keys of a new installation and the first one of its operator',
    load: () => import('./init.ts'),
  },
  config: {
    description: 'show the settings in effect, secrets withheld (--example: all there are)',
    load: () => import('./config.ts'),
  },
  doctor: {
    description: 'look at everything and say what is wrong and what to do (--json)',
    load: () => import('./doctor.ts'),
  },
  docs: {
    description: 'write what the documentation has from the code (--check: only say what is out of date)',
    load: () => import('./docs.ts'),
  },
  'demo-tenants': {
    description: 'create the demo tenants in the database and end',
    load: () => import('./demo/demo-tenants.ts'),
  },
  acquirer: { description: 'add, list, change and block acquirers', load: () => import('./acquirer.ts') },
  integrator: { description: 'those who write the software of merchants', load: () => import('./integrator.ts') },
  merchant: { description: 'the merchants of an acquirer', load: () => import('./merchant.ts') },
  terminal: { description: 'the terminals of an acquirer', load: () => import('./terminal.ts') },
  'terminal-profile': {
    description: 'what readers may take, and how (add, list, show, change, remove)',
    load: () => import('./terminal-profile.ts'),
  },
  'blocked-device': {
    description: 'devices that an acquirer takes no tap from',
    load: () => import('./blocked-device.ts'),
  },
  user: { description: 'portal users, their passwords, roles and rights', load: () => import('./user.ts') },
  'api-key': { description: 'make, rotate and revoke API keys', load: () => import('./api-key.ts') },
  'issuer-key': { description: 'the keys that sign merchants’ tokens', load: () => import('./issuer-key.ts') },
  callback: { description: 'where integrators are told of links and intents', load: () => import('./callback.ts') },
  audit: { description: 'who changed what (--acquirer ID)', load: () => import('./audit.ts') },
  profile: { description: 'write what tap and webhooks need of an installation', load: () => import('./profile.ts') },
  processor: {
    description: 'make, prove and list processors; give them to acquirers',
    load: () => import('./processor/processor.ts'),
  },
  route: { description: 'lead taps of an acquirer to its processors', load: () => import('./route.ts') },
  simulate: { description: 'run simulated switches', load: () => import('./simulate.ts') },
  keys: { description: 'rotate the keys of this installation', load: () => import('./keys.ts') },
  jobs: {
    description: 'show the queues and the jobs that were given up; give those back (dead-letters)',
    load: () => import('./jobs.ts'),
  },
  'verify-ledger': {
    description: 'compare the database with the ledger of the simulated switches (--ledger URL)',
    load: () => import('./verify-ledger.ts'),
  },
  load: {
    description: 'run a load test and show what came of it (compare A.json B.json: two of them side by side)',
    load: () => import('./load/load.ts'),
  },
  tap: { description: 'submit a tap as a phone would (--amount 10.00 --currency ZAR)', load: () => import('./tap.ts') },
  link: { description: 'make a payment link and print its pay page (--amount 10.00)', load: () => import('./link.ts') },
  webhooks: {
    description: 'pass events on to a receiver of yours',
    load: () => import('./webhooks.ts'),
  },
  decode: {
    description: 'show an ISO 8583 message, card data withheld (--spec type-1 HEX|FILE|-)',
    load: () => import('./decode.ts'),
  },
  encode: {
    description: 'write an ISO 8583 message given as JSON (--spec type-1 FILE|-)',
    load: () => import('./encode.ts'),
  },
  diff: { description: 'show where two ISO 8583 messages differ (--spec type-1 A B)', load: () => import('./diff.ts') },
  tlv: { description: 'show a BER-TLV blob, card data withheld (HEX|FILE|-)', load: () => import('./tlv.ts') },
};

try {
  process.exitCode = await runCommand('tapwire', COMMANDS, process.argv.slice(2));
} catch (error) {
  const cliError = toCliError(error);
  if (cliError === undefined) throw error;
  console.error(cliError.description);
  process.exitCode = cliError.exitCode;
}
