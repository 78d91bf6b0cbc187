import type { Sections } from './commands.ts';

const tenants = () => import('./tenants.ts');
const credentials = () => import('./credentials.ts');
const messages = () => import('./messages.ts');

/** One file per command, or per group of commands. */
export const COMMANDS: Sections = {
  'Try it': {
    demo: {
      description: 'start everything, submit demo taps, and exit (--stay: keep running; --open: in the browser)',
      load: () => import('./demo/demo.ts'),
    },
    tap: {
      description: 'submit a tap as a phone would (--amount 10.00 --currency ZAR)',
      load: () => import('./tap.ts'),
    },
    link: {
      description: 'create a payment link and print the URL of its pay page (--amount 10.00)',
      load: () => import('./link.ts'),
    },
    trigger: {
      description: 'produce an outcome for a receiver of webhooks: approved, declined, timeout, refund, ...',
      load: () => import('./trigger.ts'),
    },
    webhooks: {
      description: 'forward events to your receiver',
      load: () => import('./webhooks.ts'),
    },
  },
  'Run an installation': {
    start: {
      description: 'start the gateway (--role all|api|worker, --processes auto|NUMBER)',
      load: () => import('./start.ts'),
    },
    init: {
      description: 'set up an installation, from nothing to its first tap (--answers FILE)',
      load: () => import('./init/init.ts'),
    },
    migrate: {
      description: 'migrate the database to this version and exit',
      load: async () => (await import('./start.ts')).migrate,
    },
    config: {
      description: 'show the settings in effect without secrets (--example: all settings)',
      load: () => import('./config.ts'),
    },
    doctor: {
      description: 'find faults of the installation and say how to correct them (--json)',
      load: () => import('./doctor.ts'),
    },
    jobs: {
      description: 'show the queues; list or retry permanently failed jobs (dead-letters)',
      load: () => import('./jobs.ts'),
    },
    size: {
      description: 'calculate cores, disk and settings for a number of taps (--taps 100/s)',
      load: () => import('./size.ts'),
    },
    'log-level': {
      description: 'change what the running processes log, for a while (debug --minutes 10)',
      load: () => import('./log-level.ts'),
    },
    transaction: {
      description: 'show a transaction by id, reference or correlation id',
      load: () => import('./transaction.ts'),
    },
    archive: {
      description: 'write old months of transactions to files, and read them again',
      load: () => import('./archive.ts'),
    },
    restored: {
      description: 'state that the database was restored; show and release what is held since',
      load: () => import('./restored.ts'),
    },
    audit: {
      description: 'show who changed what; find entries that were changed afterwards (verify)',
      load: () => import('./audit.ts'),
    },
    hsm: {
      description: 'show the HSM and its keys; import, register, rotate and retire keys',
      load: () => import('./hsm/hsm.ts'),
    },
    keys: { description: 'list and rotate the keys of this installation', load: () => import('./keys.ts') },
    cell: {
      description: 'list cells and move acquirers between them (list, add, status, move, recover, forget)',
      load: () => import('./cell.ts'),
    },
  },
  'Acquirers and their settings': {
    acquirer: {
      description: 'add, list, change and block acquirers',
      load: async () => ({ commands: (await tenants()).acquirer }),
    },
    integrator: {
      description: 'manage the companies that write merchants’ software',
      load: async () => ({ commands: (await tenants()).integrator }),
    },
    merchant: {
      description: 'manage the merchants of an acquirer',
      load: async () => ({ commands: (await tenants()).merchant }),
    },
    terminal: {
      description: 'manage the terminals of an acquirer',
      load: async () => ({ commands: (await tenants()).terminal }),
    },
    'terminal-profile': {
      description: 'manage what readers accept (add, list, show, change, remove)',
      load: () => import('./terminal-profile.ts'),
    },
    'blocked-device': {
      description: 'manage the devices whose taps an acquirer refuses',
      load: async () => ({ commands: (await tenants()).blockedDevice }),
    },
    attester: {
      description: 'manage the services that attest devices; sign an attestation for tests',
      load: () => import('./attester.ts'),
    },
    user: {
      description: 'manage portal users: passwords, roles and permissions',
      load: async () => ({ commands: (await credentials()).user }),
    },
    'api-key': {
      description: 'create, rotate and revoke API keys',
      load: async () => ({ commands: (await credentials()).apiKey }),
    },
    'issuer-key': {
      description: 'manage the keys that sign merchants’ tokens',
      load: async () => ({ commands: (await credentials()).issuerKey }),
    },
    callback: { description: 'set the webhook URL for links and intents', load: () => import('./callback.ts') },
  },
  Switches: {
    processor: {
      description: 'create, verify and list processors; assign them to acquirers',
      load: () => import('./processor/processor.ts'),
    },
    reader: {
      description: 'list and verify the formats in which readers encrypt card data',
      load: () => import('./reader/reader.ts'),
    },
    route: {
      description: 'assign taps of an acquirer to its processors',
      load: async () => ({ commands: (await tenants()).route }),
    },
    stan: {
      description: 'show STANs; continue those that are held after a restored backup',
      load: () => import('./stan.ts'),
    },
    simulate: { description: 'run simulated switches', load: () => import('./simulate.ts') },
  },
  Tests: {
    profile: { description: 'write the credentials file for tap and webhooks', load: () => import('./profile.ts') },
    load: {
      description: 'run a load test and show the result (compare A.json B.json; clean: remove what tests stored)',
      load: () => import('./load/load.ts'),
    },
    'verify-ledger': {
      description: 'compare the database with the ledger of the simulated switches (--ledger URL)',
      load: () => import('./verify-ledger.ts'),
    },
    'demo-tenants': {
      description: 'create the demo tenants in the database and exit',
      load: () => import('./demo/demo-tenants.ts'),
    },
  },
  Messages: {
    decode: {
      description: 'show an ISO 8583 message without card data (--spec type-1 HEX|FILE|-)',
      load: async () => (await messages()).decode,
    },
    encode: {
      description: 'encode an ISO 8583 message given as JSON (--spec type-1 FILE|-)',
      load: async () => (await messages()).encode,
    },
    diff: {
      description: 'show where two ISO 8583 messages differ (--spec type-1 A B)',
      load: async () => (await messages()).diff,
    },
    spec: {
      description: 'convert and compare specifications: packagers of jPOS, specs of moov and pyiso8583',
      load: () => import('./spec.ts'),
    },
    certify: {
      description: 'run the test cases of a network against its test host, and keep the evidence',
      load: () => import('./certify.ts'),
    },
    tlv: { description: 'show BER-TLV data without card data (HEX|FILE|-)', load: async () => (await messages()).tlv },
  },
  'Tapwire itself': {
    completion: {
      description: 'print a script that completes commands in bash, zsh or fish',
      load: async () => {
        const { printCompletion, USAGE } = await import('./completion.ts');
        return { USAGE, run: (args) => printCompletion(COMMANDS, args) };
      },
    },
    docs: {
      description: 'update the generated documentation (--check: only report what is out of date)',
      load: () => import('./docs.ts'),
    },
  },
};
