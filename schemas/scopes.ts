/** What an API key may be allowed to do, and what each scope says to whoever gives it out. */
export const SCOPES = {
  'transactions:read': 'see transactions, their receipts and their events',
  'transactions:refund': 'refund and void sales',
  'payments:create': 'create links, intents and intent session tokens, and send payments to devices',
  'devices:manage': 'see, register, rename and remove devices',
  'webhooks:manage': 'see to webhooks: where they go, what signs them, which are sent again',
  'processors:manage': 'manage the processors and routes of an acquirer',
  'profiles:manage': 'manage the terminal profiles of an acquirer',
  'tenants:manage': 'manage acquirers, integrators, merchants and terminals',
  'audit:read': 'see who changed what of whose settings',
  'credentials:manage': 'manage API keys, issuer keys and portal users',
} as const;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as [Scope, ...Scope[]];
