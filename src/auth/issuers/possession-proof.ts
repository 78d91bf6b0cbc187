/**
 * The proof with which the holder of a private key registers its public key at an acquirer: a JWS that the private key
 * signs, about one issuer, one acquirer and one gateway. Public keys are public. Without the proof, an acquirer could
 * register a copy of the key of another acquirer's integrator, and claim its tokens. The type of the JWS keeps it from
 * being read as a token, and a token from being read as a proof.
 */
import type { KeyObject } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { MAX_TOKEN_CHARS, POSSESSION_PROOF_TYPE, possessionProofClaims, type SigningAlgorithm } from '#schemas/tokens';

/** Proofs are sent to acquirers by people. It is valid for one registration by one acquirer, so a theft gains nothing. */
const MAX_AGE_SECONDS = 7 * 24 * 60 * 60;
/** As for the tokens that the key will sign. */
const LEEWAY_SECONDS = 60;

/** What a key is registered for. */
export interface Registration {
  readonly issuer: string;
  readonly acquirerId: number;
  /** `TAPWIRE_AUDIENCE` of the gateway. */
  readonly audience: string;
}

/** Whether the holder of the private key agrees to the registration. */
export async function isPossessionProof(
  proof: string,
  { publicKey, algorithms }: { readonly publicKey: KeyObject; readonly algorithms: readonly SigningAlgorithm[] },
  { issuer, acquirerId, audience }: Registration,
  nowMs = Date.now(),
): Promise<boolean> {
  if (proof.length > MAX_TOKEN_CHARS) return false;
  try {
    const { payload } = await jwtVerify(proof, publicKey, {
      ...{ issuer, audience, algorithms: [...algorithms], typ: POSSESSION_PROOF_TYPE },
      ...{ maxTokenAge: MAX_AGE_SECONDS, clockTolerance: LEEWAY_SECONDS, currentDate: new Date(nowMs) },
    });
    return possessionProofClaims.parse(payload).acquirerId === acquirerId;
  } catch {
    return false;
  }
}

/** The proof, as an integrator signs it. */
export function signPossessionProof(
  privateKey: KeyObject,
  algorithm: SigningAlgorithm,
  { issuer, acquirerId, audience }: Registration,
): Promise<string> {
  return new SignJWT({ acquirerId })
    .setProtectedHeader({ alg: algorithm, typ: POSSESSION_PROOF_TYPE })
    .setIssuer(issuer)
    .setAudience(audience)
    .setIssuedAt()
    .sign(privateKey);
}
