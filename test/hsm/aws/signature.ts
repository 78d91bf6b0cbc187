import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Credentials of the simulated account. */
export const CREDENTIALS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

const FORM =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;

/**
 * Whether a request carries the signature that the specification of Signature Version 4 requires. Written from that
 * specification, because the gateway signs with a library.
 */
export function isSigned(request: IncomingMessage, body: Buffer): boolean {
  const [, accessKeyId, date, region, service, signedHeaders, signature] =
    FORM.exec(request.headers.authorization ?? '') ?? [];
  if (accessKeyId !== CREDENTIALS.accessKeyId || service !== 'payment-cryptography') return false;
  const at = request.headers['x-amz-date'] as string;
  const canonical = [
    request.method,
    // Services other than S3 encode the path twice: once as it is sent, once for the signature.
    request
      .url!.split('/')
      .map((part) => encodeURIComponent(part))
      .join('/'),
    '',
    ...signedHeaders!.split(';').map((name) => `${name}:${String(request.headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    signedHeaders,
    sha256(body),
  ].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', at, scope, sha256(Buffer.from(canonical))].join('\n');
  const key = [date!, region!, service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${CREDENTIALS.secretAccessKey}`,
  );
  return (
    signedHeaders!.split(';').includes('host') && createHmac('sha256', key).update(text).digest('hex') === signature
  );
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
