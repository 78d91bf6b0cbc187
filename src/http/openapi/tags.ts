/** The chapters of the API reference in order, with the first path segments of each. */
const CHAPTERS = [
  {
    name: 'Taps',
    description: 'Submit taps and PINs from a phone.',
    under: ['/transactions/mobile', '/transactions/:transactionId'],
  },
  { name: 'Transactions', description: 'Query, refund and void transactions.', under: ['/transactions'] },
  {
    name: 'Links and intents',
    description: 'Create payments that a payment app completes, and query their status.',
    under: ['/consumer', '/refresh', '/pay'],
  },
  { name: 'Webhooks', description: 'Register callback URLs, and list and replay webhooks.', under: ['/integrator'] },
  { name: 'Tokens', description: 'Log in, and obtain and check tokens.', under: ['/login', '/mobile', '/tokens'] },
  {
    name: 'Readers',
    description: 'Get the configuration and public keys for card readers.',
    under: ['/terminal', '/.well-known'],
  },
  { name: 'Devices', description: 'Manage phones that receive push payments.', under: ['/devices'] },
  {
    name: 'Administration',
    description: 'Manage tenants, credentials, processors, routes and terminal profiles.',
    under: ['/acquirers'],
  },
  { name: 'Operation', description: 'Monitor an installation, and read this reference.', under: ['/'] },
] as const;

/** An operation beyond the published interface has this tag in addition to its chapter. */
const EXTENSION = { name: 'extension', description: 'Operations beyond the published interface.' };

export const TAGS = [...CHAPTERS.map(({ name, description }) => ({ name, description })), EXTENSION];

export function tagOf(url: string): string {
  return CHAPTERS.find(({ under }) => under.some((prefix) => url.startsWith(prefix)))!.name;
}
