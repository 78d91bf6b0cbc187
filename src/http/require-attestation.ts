import type { FastifyRequest } from 'fastify';
import type { Attestations } from '../auth/attestation/attestations.ts';

/**
 * Makes an `onRequest` for requests with card data: it follows the one that sets `submitter`, and runs before the body
 * is read.
 */
export function requireAttestation(
  attestations: Pick<Attestations, 'check'>,
): (request: FastifyRequest) => Promise<void> {
  return async ({ headers, submitter }) => {
    const device = headers['x-device-installation-id'];
    const token = headers['x-device-attestation'];
    await attestations.check(submitter!.acquirerId, textOf(device) ?? '', textOf(token));
  };
}

/** Node joins repeated headers of these names with commas, so that a list never occurs. */
function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}
