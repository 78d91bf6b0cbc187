import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/**
 * Certificates for tests, generated when needed: ECDSA P-256, version 3, valid from yesterday to tomorrow (RFC 5280).
 */
export interface Identity {
  readonly name: string;
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8. */
  readonly key: string;
  readonly privateKey: KeyObject;
}

const TAG = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, utf8: 0x0c, time: 0x17, sequence: 0x30, set: 0x31 };
const CONTEXT = { version: 0xa0, extensions: 0xa3, dnsName: 0x82, ipAddress: 0x87 };
const OID = {
  ecdsaWithSha256: Buffer.from('2a8648ce3d040302', 'hex'),
  commonName: Buffer.from('550403', 'hex'),
  basicConstraints: Buffer.from('551d13', 'hex'),
  subjectAltName: Buffer.from('551d11', 'hex'),
};
const DER_TRUE = Buffer.of(0x01, 0x01, 0xff);
const DAY_MS = 86_400_000;

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...head), content]);
}

const sequence = (...parts: Uint8Array[]) => der(TAG.sequence, ...parts);
const oid = (value: Uint8Array) => der(TAG.oid, value);
const text = (value: string) => der(TAG.utf8, Buffer.from(value));
const bits = (value: Uint8Array) => der(TAG.bits, Buffer.of(0), value);
const distinguishedName = (name: string) => sequence(der(TAG.set, sequence(oid(OID.commonName), text(name))));

function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return der(TAG.time, Buffer.from(`${digits}Z`));
}

function extensions(isAuthority: boolean): Buffer {
  const names = sequence(
    der(CONTEXT.dnsName, Buffer.from('localhost')),
    der(CONTEXT.ipAddress, Buffer.of(127, 0, 0, 1)),
  );
  const list = [sequence(oid(OID.subjectAltName), der(TAG.octets, names))];
  if (isAuthority) {
    list.push(sequence(oid(OID.basicConstraints), DER_TRUE, der(TAG.octets, sequence(DER_TRUE))));
  }
  return der(CONTEXT.extensions, sequence(...list));
}

/** An identity signed by `issuer`; without an issuer, a self-signed authority. Valid for `localhost` and 127.0.0.1. */
export function createIdentity(name: string, issuer?: Identity): Identity {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const serial = randomBytes(8);
  serial[0] = 0x01; // Positive, and without a leading zero that DER would forbid.
  const toBeSigned = sequence(
    der(CONTEXT.version, der(TAG.integer, Buffer.of(2))),
    der(TAG.integer, serial),
    algorithm,
    distinguishedName(issuer?.name ?? name),
    sequence(utcTime(Date.now() - DAY_MS), utcTime(Date.now() + DAY_MS)),
    distinguishedName(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    extensions(!issuer),
  );
  const signature = sign('sha256', toBeSigned, issuer?.privateKey ?? privateKey);
  const cert = pem('CERTIFICATE', sequence(toBeSigned, algorithm, bits(signature)));
  return { name, cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, privateKey };
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}
