import { SCOPES, type Scope } from '#schemas/scopes';
import type { Credential, RouteFacts } from '../route-table.ts';

interface Shown {
  /** Text for people: the owner of the key, or the name of the token. */
  readonly text: string;
  /** How a request carries it. */
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
    description: `API key, \`tw_test_…\` or \`tw_live_…\`. Scopes limit the operations of a key:\n\n${scopeTable()}`,
  },
  merchantToken: bearer(
    'JWT that the backend of the integrator signs for one of its merchants. Claims: `iss`, `sub` (merchant), `usr` (user), ' +
      '`aud`, `iat` and `exp` (at most 24 h after `iat`); some operations also require `mbn`, `mcc` and `x-tid`, and `spCfg` ' +
      'is optional. `x-tid` names a terminal of the merchant, or one without a `merchantId`. Algorithms: RS256, PS256, ES256 or EdDSA. Register the public key first (issuer keys).',
  ),
  loginToken: bearer('JWT from `POST /login`, for a portal user.'),
  intentToken: bearer(
    'JWT from the creation of a link or intent. The payment app uses the token for that one payment.',
  ),
  intentSessionToken: bearer(
    'JWT from `POST /refresh/intentSessionToken`, for an app that starts many transactions of one merchant.',
  ),
  proximityToken: bearer('JWT from `POST /mobile/proximity-token`, for the card reader.'),
} as const;

/** Security requirements (OpenAPI 3.1, 4.8.30): one of them must hold. The scopes are listed with the key. */
export function securityOf({ takes, scope, takesBoth }: RouteFacts): Record<string, string[]>[] {
  const schemes = [...new Set(takes.map((credential) => CREDENTIALS[credential].scheme))];
  const apiKey = scope ? [scope] : [];
  const tokens = schemes.filter((scheme) => scheme !== 'apiKey').map((scheme) => ({ [scheme]: [] }));
  if (takesBoth) return tokens.map((token) => ({ apiKey, ...token }));
  return schemes.includes('apiKey') ? [{ apiKey }, ...tokens] : tokens;
}

/** "API key of acquirer, integrator or merchant (`transactions:read`), or merchant JWT" */
export function credentialsText({ takes, scope, takesBoth }: RouteFacts): string {
  const text = (isKey: boolean) => {
    const such = takes.filter((credential) => (CREDENTIALS[credential].scheme === 'apiKey') === isKey);
    return such.map((credential) => CREDENTIALS[credential].text);
  };
  const owners = text(true);
  const keys = owners.length === 0 ? [] : [`API key of ${anyOf(owners)}${scope ? ` (\`${scope}\`)` : ''}`];
  const tokens = text(false);
  if (takesBoth) return [...keys, anyOf(tokens)].join(' and ');
  return anyOf([...keys, ...tokens]) || 'none';
}

function anyOf(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}

function scopeTable(): string {
  const rows = (Object.entries(SCOPES) as [Scope, string][]).map(([scope, text]) => `| \`${scope}\` | ${text} |`);
  return ['| scope | permits |', '|---|---|', ...rows].join('\n');
}

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

/** The requests that the gateway sends. */
export const EVENTS_TAG = 'Events';

export const TAGS = [
  ...CHAPTERS.map(({ name, description }) => ({ name, description })),
  { name: EVENTS_TAG, description: 'Receive the requests that the gateway sends to your callback URL.' },
];

export function tagOf(url: string): string {
  return CHAPTERS.find(({ under }) => under.some((prefix) => url.startsWith(prefix)))!.name;
}
