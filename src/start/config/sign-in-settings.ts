import { z } from 'zod';
import { type MappedRole, readMappedRole } from '../../auth/oidc/oidc-provider.ts';
import { areShared, type LoginDomain, readLoginDomain } from '../../auth/portal/log-in.ts';
import type { SecretName } from '../../observe/secret-files.ts';
import { type Grant, readGrant } from '../../switching/switches/access/grants.ts';

/** The forms of values in environment variables. */

export const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  );

/** Lists the domain of each acquirer's user names. */
export const loginDomains = list.transform((entries, context): readonly LoginDomain[] => {
  const domains = entries.flatMap((entry) => {
    const domain = readLoginDomain(entry);
    if (domain === undefined)
      context.addIssue(`${JSON.stringify(entry)} is not ACQUIRER=DOMAIN, such as 1=bank.example`);
    return domain ?? [];
  });
  if (domains.some((one) => domains.some((other) => areShared(one, other))))
    context.addIssue('the domains of different acquirers must not be the same, nor in one another');
  return domains;
});

/** Lists grants of the operator to acquirers. */
export const grants = <What>(example: string, read: (what: string) => What | undefined) =>
  list.transform((entries, context): readonly Grant<What>[] =>
    entries.flatMap((entry) => {
      const grant = readGrant(entry, read);
      if (grant === undefined)
        context.addIssue(`${JSON.stringify(entry)} is not ACQUIRER=VALUE; a value is ${example}`);
      return grant ?? [];
    }),
  );

/** A number of days, limited so that a date computed from it stays in the common era. */
export const days = (least: number, defaultValue: number) =>
  z.coerce.number().int().min(least).max(36_500).default(defaultValue);

/** Without a query or fragment, because paths are appended. A trailing slash is removed. */
export const publicUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .regex(/^[^?#@]*$/, 'must not have a query, a fragment or a password')
  .transform((url) => url.replace(/\/+$/, ''))
  .optional();

/** Name of an Android action or package. */
export const androidName = z
  .string()
  .max(255)
  .regex(/^[A-Za-z]\w*(\.\w+)*$/, 'must be a name such as com.example.pay')
  .optional();

export const tapRate = (defaultValue: number) => z.coerce.number().int().min(0).max(1_000_000).default(defaultValue);

export const flag = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0', ''] });

/**
 * A setting with a secret can be given as a file: orchestrators provide files, and a process's environment is easy
 * to read.
 */
export const secretFile = (name: SecretName) =>
  z.string().min(1).optional().describe(`File that contains only the value of ${name}; replaces that setting`);

/** The audit trail names the issuer beside the subject, in 255 characters. */
const MAX_ISSUER_CHARS = 120;
const MAX_TEXT_CHARS = 255;
/** The console requires a new login after a quarter of an hour without an act (PCI DSS 4.0 8.2.8). */
const MAX_AGE_SECONDS = 900;

const text = z.string().min(1).max(MAX_TEXT_CHARS);

/** Settings of the console's sign-in. */
export const signInSettings = {
  CONSOLE_NEEDS_TOTP: flag
    .default(false)
    .describe(
      'Operators and admins of acquirers and of the installation, with a password, must set up one-time codes (TOTP) in the console before they can do anything else',
    ),
  CONSOLE_URL: publicUrl.describe(
    'URL at which browsers reach the console, for the callback of OIDC_ISSUER; if not set, BASE_URL',
  ),
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .max(MAX_ISSUER_CHARS)
    .regex(/^[^?#@\s]*$/, 'must not have a query, a fragment or a password')
    .optional()
    .describe(
      'Issuer of the OpenID provider with which people can sign in to the console; if not set, only passwords. Its callback is ' +
        '<CONSOLE_URL>/ops/oidc/callback',
    ),
  OIDC_CLIENT_ID: text.optional().describe('Client id of the console at OIDC_ISSUER'),
  OIDC_CLIENT_SECRET: text
    .optional()
    .describe('Client secret at OIDC_ISSUER; if not set, the console is a public client that has only PKCE'),
  OIDC_CLIENT_SECRET_FILE: secretFile('OIDC_CLIENT_SECRET'),
  OIDC_SCOPES: text
    .regex(/(^| )openid( |$)/, 'must contain openid')
    .default('openid profile email')
    .describe('Scopes that the console asks for, separated by spaces'),
  OIDC_ROLE_CLAIM: text
    .default('groups')
    .describe('Claim with the roles or groups of a person; a dot leads into a claim, as in realm_access.roles'),
  OIDC_ROLES: list
    .transform((entries, context): readonly MappedRole[] =>
      entries.flatMap((entry) => {
        const mapped = readMappedRole(entry);
        if (mapped === undefined)
          context.addIssue(
            `${JSON.stringify(entry)} is not VALUE=ROLE or VALUE=ROLE@ACQUIRER; a role is viewer, operator or admin`,
          );
        return mapped ?? [];
      }),
    )
    .describe(
      'Roles in the console by value of OIDC_ROLE_CLAIM: VALUE=ROLE for the installation or VALUE=ROLE@ACQUIRER, comma-separated. ' +
        'The first entry that a person has counts; a person without one is refused. A value must not contain a comma',
    ),
  OIDC_MAX_AGE_SECONDS: z.coerce
    .number()
    .int()
    .min(0)
    .max(86_400)
    .default(MAX_AGE_SECONDS)
    .describe(
      'Seconds since a person authenticated at OIDC_ISSUER, after which it must ask again; 0 for a provider without auth_time',
    ),
};

interface SignInConfig {
  readonly OIDC_ISSUER?: string | undefined;
  readonly OIDC_CLIENT_ID?: string | undefined;
  readonly OIDC_ROLES: readonly MappedRole[];
  readonly CONSOLE_URL?: string | undefined;
}

/** What single settings cannot say. */
export function checkSignIn(
  { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_ROLES, CONSOLE_URL }: SignInConfig,
  isDev: boolean,
  fault: (path: 'OIDC_ISSUER' | 'OIDC_CLIENT_ID' | 'OIDC_ROLES' | 'CONSOLE_URL', message: string) => void,
): void {
  if (!isDev && CONSOLE_URL?.startsWith('http:')) fault('CONSOLE_URL', 'must begin with https://');
  if (OIDC_ISSUER === undefined) {
    if (OIDC_CLIENT_ID !== undefined) fault('OIDC_ISSUER', 'is required with OIDC_CLIENT_ID');
    return;
  }
  if (!isDev && OIDC_ISSUER.startsWith('http:')) fault('OIDC_ISSUER', 'must begin with https://');
  if (OIDC_CLIENT_ID === undefined) fault('OIDC_CLIENT_ID', 'is required with OIDC_ISSUER');
  if (OIDC_ROLES.length === 0)
    fault('OIDC_ROLES', 'is required with OIDC_ISSUER; without it, every person would be refused');
}
