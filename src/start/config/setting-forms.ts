import { z } from 'zod';
import { areShared, type LoginDomain, readLoginDomain } from '../../auth/portal/login-domains.ts';
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
