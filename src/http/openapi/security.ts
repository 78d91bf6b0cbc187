import { SCOPES, type Scope } from '../../auth/scopes.ts';
import type { Credential, RouteFacts } from '../route-facts.ts';

interface Shown {
  /** To people: whose key it is, or what the token is called. */
  readonly text: string;
  /** How a request shows it. */
  readonly scheme: keyof typeof SECURITY_SCHEMES;
}

export const CREDENTIALS: Readonly<Record<Credential, Shown>> = {
  operatorKey: { text: 'operator', scheme: 'apiKey' },
  acquirerKey: { text: 'acquirer', scheme: 'apiKey' },
  integratorKey: { text: 'integrator', scheme: 'apiKey' },
  merchantKey: { text: 'merchant', scheme: 'apiKey' },
  merchantToken: { text: 'merchant JWT', scheme: 'merchantToken' },
  loginToken: { text: 'login token', scheme: 'loginToken' },
  intentToken: { text: 'intent token', scheme: 'intentToken' },
  intentSessionToken: { text: 'intent session token', scheme: 'intentSessionToken' },
  proximityToken: { text: 'proximity token', scheme: 'proximityToken' },
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

/** "key of acquirer, integrator or merchant (`transactions:read`), or merchant JWT" */
export function credentialsText({ takes, scope, takesBoth }: RouteFacts): string {
  const text = (isKey: boolean) => {
    const such = takes.filter((credential) => (CREDENTIALS[credential].scheme === 'apiKey') === isKey);
    return such.map((credential) => CREDENTIALS[credential].text);
  };
  const owners = text(true);
  const keys = owners.length === 0 ? [] : [`key of ${anyOf(owners)}${scope ? ` (\`${scope}\`)` : ''}`];
  const tokens = text(false);
  if (takesBoth) return [...keys, anyOf(tokens)].join(' and ');
  return anyOf([...keys, ...tokens]) || 'none';
}

function anyOf(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}

function scopeTable(): string {
  const rows = (Object.entries(SCOPES) as [Scope, string][]).map(([scope, text]) => `| \`${scope}\` | ${text} |`);
  return ['| scope | may |', '|---|---|', ...rows].join('\n');
}
