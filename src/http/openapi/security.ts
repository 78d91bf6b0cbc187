import { SCOPES, type Scope } from '../../auth/scopes.ts';
import type { Credential, RouteFacts } from '../route-facts.ts';

/** What each credential is to people, and how a request shows it. */
export const CREDENTIALS: Readonly<Record<Credential, { readonly text: string; readonly scheme: string }>> = {
  operatorKey: { text: "the operator's key", scheme: 'apiKey' },
  acquirerKey: { text: "an acquirer's key", scheme: 'apiKey' },
  integratorKey: { text: "an integrator's key", scheme: 'apiKey' },
  merchantKey: { text: "a merchant's key", scheme: 'apiKey' },
  merchantToken: { text: 'a merchant JWT', scheme: 'merchantToken' },
  loginToken: { text: 'a login token', scheme: 'loginToken' },
  intentToken: { text: 'the intent token', scheme: 'intentToken' },
  intentSessionToken: { text: 'an intent session token', scheme: 'intentSessionToken' },
  proximityToken: { text: 'a proximity token', scheme: 'proximityToken' },
};

const bearer = (description: string) => ({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description });

export const SECURITY_SCHEMES = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: `\`tw_test_…\` or \`tw_live_…\`. The scopes a key can have:\n\n${scopeTable()}`,
  },
  merchantToken: bearer(
    "Signed by the integrator's backend for one of its merchants: `iss`, `sub` (the merchant), `usr`, `aud`, `iat`, " +
      '`exp` (24 h at most), and as an endpoint asks `mbn`, `mcc`, `x-tid`, `spCfg`. RS256, PS256, ES256 or EdDSA by a ' +
      'key that was registered beforehand.',
  ),
  loginToken: bearer('Of 4.15, for a user of the portal.'),
  intentToken: bearer('Of 4.11 to 4.13: for the payment app, and for that one transaction alone.'),
  intentSessionToken: bearer('Of 4.14: for an app that starts many transactions of one merchant.'),
  proximityToken: bearer('Of 4.3: for the reader.'),
} as const;

/** Security requirements (OpenAPI 3.1, 4.8.30): one of them must hold; the scopes stand with the key. */
export function securityOf({ takes, scope, takesBoth }: RouteFacts): Record<string, string[]>[] {
  const schemes = [...new Set(takes.map((credential) => CREDENTIALS[credential].scheme))];
  const asked = schemes.map((scheme) => [scheme, scheme === 'apiKey' && scope ? [scope] : []] as const);
  return takesBoth ? [Object.fromEntries(asked)] : asked.map((entry) => Object.fromEntries([entry]));
}

/** "an acquirer's key with `transactions:read` or a merchant JWT" */
export function credentialsText({ takes, scope, takesBoth }: RouteFacts): string {
  if (takes.length === 0) return 'none';
  const isKey = (credential: Credential) => CREDENTIALS[credential].scheme === 'apiKey';
  const text = (credentials: readonly Credential[]) => credentials.map((each) => CREDENTIALS[each].text).join(' or ');
  const keys = takes.filter(isKey);
  const withScope = keys.length > 0 && scope ? ` with \`${scope}\`` : '';
  const parts = [text(keys) + withScope, text(takes.filter((each) => !isKey(each)))].filter(Boolean);
  return parts.join(takesBoth ? ' and ' : ' or ');
}

function scopeTable(): string {
  const rows = (Object.entries(SCOPES) as [Scope, string][]).map(([scope, text]) => `| \`${scope}\` | ${text} |`);
  return ['| scope | may |', '|---|---|', ...rows].join('\n');
}
