/** Scopes of an API key, with a description for the person who grants them. */
export const SCOPES = {
  'transactions:read': 'read transactions, receipts and audit trails',
  'transactions:refund': 'refund and void sales',
  'payments:create': 'create links, intents and intent session tokens, and send payments to devices',
  'devices:manage': 'list, register, rename and remove devices',
  'webhooks:manage': 'manage callback URLs and webhook secrets, and replay webhooks',
  'processors:manage': 'manage the processors and routes of an acquirer',
  'profiles:manage': 'manage the terminal profiles of an acquirer',
  'tenants:manage': 'manage acquirers, integrators, merchants and terminals',
  'audit:read': 'read admin events: the record of all settings changes',
  'credentials:manage': 'manage API keys, issuer keys and portal users',
} as const;

export type Scope = keyof typeof SCOPES;

export const SCOPE_NAMES = Object.keys(SCOPES) as [Scope, ...Scope[]];
