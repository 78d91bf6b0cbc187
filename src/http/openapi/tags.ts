/** The chapters of the API reference, in their order, and the first words of the addresses in each. */
const CHAPTERS = [
  {
    name: 'Taps',
    description: 'A phone submits taps and PINs.',
    under: ['/transactions/mobile', '/transactions/:transactionId'],
  },
  { name: 'Transactions', description: 'What became of them; refunds and voids.', under: ['/transactions'] },
  {
    name: 'Links and intents',
    description: 'Payments that a payment app takes up.',
    under: ['/consumer', '/refresh', '/pay'],
  },
  { name: 'Webhooks', description: 'Where outcomes are sent to, and what was sent.', under: ['/integrator'] },
  { name: 'Tokens', description: 'Signing in, and tokens for readers.', under: ['/login', '/mobile', '/tokens'] },
  { name: 'Readers', description: 'What a reader needs to begin.', under: ['/terminal', '/.well-known'] },
  { name: 'Devices', description: 'Phones that payments are sent to.', under: ['/devices'] },
  {
    name: 'Administration',
    description: 'Tenants, their credentials, processors, routes and profiles.',
    under: ['/acquirers'],
  },
  { name: 'Operation', description: 'For those who run an installation, and this reference.', under: ['/'] },
] as const;

/** Besides its chapter, an operation that the published interface does not have bears this tag. */
const EXTENSION = { name: 'extension', description: 'Beyond the published interface.' };

export const TAGS = [...CHAPTERS.map(({ name, description }) => ({ name, description })), EXTENSION];

export function tagOf(url: string): string {
  return CHAPTERS.find(({ under }) => under.some((prefix) => url.startsWith(prefix)))!.name;
}
