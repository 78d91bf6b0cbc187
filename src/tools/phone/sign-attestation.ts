import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { ATTESTATION_TYPE } from '#schemas/attestation';

/** A simulated attestation service: its issuer, and its private key as PEM (P-256). */
export interface SimulatedAttester {
  readonly iss: string;
  readonly privateKey: string;
}

export interface Attested {
  readonly audience: string;
  readonly deviceInstallationId: string;
  readonly verdict?: 'trusted' | 'untrusted' | undefined;
  readonly appVersion?: string | undefined;
}

/** An attestation as an acquirer's service would sign it for a device. */
export function signAttestation(
  { iss, privateKey }: SimulatedAttester,
  { audience, deviceInstallationId, verdict = 'trusted', appVersion }: Attested,
): Promise<string> {
  return new SignJWT({ verdict, ...(appVersion !== undefined && { appVersion }) })
    .setProtectedHeader({ alg: 'ES256', typ: ATTESTATION_TYPE })
    .setIssuer(iss)
    .setAudience(audience)
    .setSubject(deviceInstallationId)
    .setIssuedAt()
    .sign(createPrivateKey(privateKey));
}
