import { inFile, type Sections } from './commands.ts';

const tenants = (name: keyof typeof import('./tenants.ts')) => async () => ({
  commands: (await import('./tenants.ts'))[name],
});
const credentials = (name: keyof typeof import('./credentials.ts')) => async () => ({
  commands: (await import('./credentials.ts'))[name],
});
const messages = () => import('./messages.ts');

/** One file per command, or per group of commands. */
export const COMMANDS: Sections = {
  'Try it': {
    demo: inFile(
      'start everything, submit demo taps, and exit (--stay: keep running; --open: in the browser)',
      () => import('./demo/demo.ts'),
    ),
    tap: inFile('submit a tap as a phone would (--amount 10.00 --currency ZAR)', () => import('./tap.ts')),
    link: inFile('create a payment link and print the URL of its pay page (--amount 10.00)', () => import('./link.ts')),
    trigger: inFile(
      'produce an outcome for a receiver of webhooks: approved, declined, timeout, refund, ...',
      () => import('./trigger.ts'),
    ),
    webhooks: inFile('forward events to your receiver', () => import('./webhooks.ts')),
  },
  'Run an installation': {
    start: inFile('start the gateway (--role all|api|worker, --processes auto|NUMBER)', () => import('./start.ts')),
    init: inFile(
      'set up an installation, from nothing to its first tap (--answers FILE)',
      () => import('./init/init.ts'),
    ),
    migrate: inFile('migrate the database to this version and exit', async () => (await import('./start.ts')).migrate),
    config: inFile(
      'show the settings in effect without secrets (--example: all settings)',
      () => import('./config.ts'),
    ),
    doctor: inFile('find faults of the installation and say how to correct them (--json)', () => import('./doctor.ts')),
    jobs: inFile('show the queues; list or retry permanently failed jobs (dead-letters)', () => import('./jobs.ts')),
    size: inFile('calculate cores, disk and settings for a number of taps (--taps 100/s)', () => import('./size.ts')),
    'log-level': inFile(
      'change what the running processes log, for a while (debug --minutes 10)',
      () => import('./log-level.ts'),
    ),
    transaction: inFile('show a transaction by id, reference or correlation id', () => import('./transaction.ts')),
    archive: inFile('write old months of transactions to files, and read them again', () => import('./archive.ts')),
    restored: inFile(
      'state that the database was restored; show and release what is held since',
      () => import('./restored.ts'),
    ),
    audit: inFile(
      'show who changed what; find entries that were changed afterwards (verify)',
      () => import('./audit.ts'),
    ),
    hsm: inFile('show the HSM and its keys; import, register, rotate and retire keys', () => import('./hsm/hsm.ts')),
    keys: inFile('list and rotate the keys of this installation', () => import('./keys.ts')),
    cell: inFile(
      'list cells and move acquirers between them (list, add, status, move, recover, forget)',
      () => import('./cell.ts'),
    ),
  },
  'Acquirers and their settings': {
    acquirer: inFile('add, list, change and block acquirers', tenants('acquirer')),
    integrator: inFile('manage the companies that write merchants’ software', tenants('integrator')),
    merchant: inFile('manage the merchants of an acquirer', tenants('merchant')),
    terminal: inFile('manage the terminals of an acquirer', tenants('terminal')),
    'terminal-profile': inFile(
      'manage what readers accept (add, list, show, change, remove)',
      () => import('./terminal-profile.ts'),
    ),
    'blocked-device': inFile('manage the devices whose taps an acquirer refuses', tenants('blockedDevice')),
    attester: inFile(
      'manage the services that attest devices; sign an attestation for tests',
      () => import('./attester.ts'),
    ),
    user: inFile('manage portal users: passwords, roles and permissions', credentials('user')),
    'api-key': inFile('create, rotate and revoke API keys', credentials('apiKey')),
    'issuer-key': inFile('manage the keys that sign merchants’ tokens', credentials('issuerKey')),
    callback: inFile('set the webhook URL for links and intents', () => import('./callback.ts')),
  },
  Switches: {
    processor: inFile(
      'create, verify and list processors; assign them to acquirers',
      () => import('./processor/processor.ts'),
    ),
    reader: inFile('list and verify the formats in which readers encrypt card data', () => import('./reader.ts')),
    route: inFile('assign taps of an acquirer to its processors', tenants('route')),
    stan: inFile('show STANs; continue those that are held after a restored backup', () => import('./stan.ts')),
    simulate: inFile('run simulated switches', () => import('./simulate.ts')),
  },
  Tests: {
    profile: inFile('write the credentials file for tap and webhooks', () => import('./profile.ts')),
    load: inFile(
      'run a load test and show the result (compare A.json B.json; clean: remove what tests stored)',
      () => import('./load/load.ts'),
    ),
    'verify-ledger': inFile(
      'compare the database with the ledger of the simulated switches (--ledger URL)',
      () => import('./verify-ledger.ts'),
    ),
    'demo-tenants': inFile(
      'create the demo tenants in the database and exit',
      async () => (await import('./demo/demo.ts')).tenants,
    ),
  },
  Messages: {
    decode: inFile(
      'show an ISO 8583 message without card data (--spec type-1 HEX|FILE|-)',
      async () => (await messages()).decode,
    ),
    encode: inFile(
      'encode an ISO 8583 message given as JSON (--spec type-1 FILE|-)',
      async () => (await messages()).encode,
    ),
    diff: inFile('show where two ISO 8583 messages differ (--spec type-1 A B)', async () => (await messages()).diff),
    spec: inFile(
      'convert and compare specifications: packagers of jPOS, specs of moov and pyiso8583',
      () => import('./spec.ts'),
    ),
    certify: inFile(
      'run the test cases of a network against its test host, and keep the evidence',
      () => import('./certify.ts'),
    ),
    tlv: inFile('show BER-TLV data without card data (HEX|FILE|-)', async () => (await messages()).tlv),
  },
  'Tapwire itself': {
    completion: inFile('print a script that completes commands in bash, zsh or fish', async () => {
      const { printCompletion, USAGE } = await import('./completion.ts');
      return { USAGE, run: (args) => printCompletion(COMMANDS, args) };
    }),
    docs: inFile(
      'update the generated documentation (--check: only report what is out of date)',
      () => import('./docs.ts'),
    ),
  },
};
