import { referenceCheck, referenceVerdict } from '#schemas/tokens';
import type { Authenticator } from '../../auth/authenticator.ts';
import { Forbidden, invalidValue } from '../../basics/errors.ts';
import type { Directory } from '../../payments/ports/directory-ports.ts';
import type { Tenant } from '../../payments/ports/store-ports.ts';
import { responseSchema, type Server } from '../server.ts';
import { withZod } from '../with-zod.ts';

/** Whether a merchantReference is available, for clients that do not track their own references (extension). */
export function registerReferencesCheckRoute(
  server: Server,
  authenticator: Authenticator,
  directory: Pick<Directory, 'merchant'>,
  isFree: (acquirerId: number, merchantId: string, reference: string) => Promise<boolean>,
): void {
  withZod(server).route({
    method: 'POST',
    url: '/transactions/references/check',
    schema: { body: referenceCheck, response: { 200: responseSchema(referenceVerdict) } },
    config: {
      facts: {
        summary: 'Check whether a reference is available',
        name: 'checkReference',
        section: 'extension',
        takes: ['acquirerKey', 'integratorKey', 'merchantKey', 'merchantToken', 'loginToken'],
        scope: 'transactions:read',
        description:
          'Reports whether a merchantReference is available. A reference is unavailable while a transaction or an unexpired link or intent uses it. The check reserves nothing.',
      },
    },
    onRequest: async (request) => {
      request.owner = await authenticator.owner(request.headers, 'transactions:read');
    },
    handler: async (request) => {
      const { merchantReference, merchantId } = request.body;
      const owner = request.owner!;
      return { free: await isFree(owner.acquirerId, merchantOf(owner, merchantId, directory), merchantReference) };
    },
  });
}

/**
 * The credential's own merchant, or a merchant of its own that is named. Any other merchant is refused, whether it
 * exists or not.
 */
function merchantOf(owner: Tenant, named: string | undefined, directory: Pick<Directory, 'merchant'>): string {
  const merchantId = named ?? owner.merchantId;
  if (merchantId === undefined)
    throw invalidValue('merchantId', 'is required because the credential covers several merchants');
  const merchant = directory.merchant(owner.acquirerId, merchantId);
  const isOwn =
    (owner.merchantId ?? merchantId) === merchantId &&
    merchant !== undefined &&
    (owner.integratorId ?? merchant.integratorId) === merchant.integratorId;
  if (!isOwn) throw new Forbidden('FORBIDDEN');
  return merchantId;
}
