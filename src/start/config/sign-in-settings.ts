import { z } from 'zod';
import { type MappedRole, readMappedRole } from '../../auth/oidc/role-mapping.ts';
import { flag, list, publicUrl, secretFile } from './setting-forms.ts';

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
