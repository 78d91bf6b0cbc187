import type { CustomFetch } from 'openid-client';
import { SignInError } from '../../basics/errors.ts';

/** Limit of one exchange with a provider. The longest sign-in has four, within the 30 s of any request. */
export const PROVIDER_TIMEOUT_MS = 5_000;
/** Discovery documents and key sets have a few kilobytes. */
const MAX_ANSWER_BYTES = 256 * 1024;

/**
 * `fetch` with a limit of time, which includes the body, and of bytes. Redirects are not followed, because the client
 * secret would follow them.
 *
 * @throws SignInError PROVIDER_UNAVAILABLE without a complete answer
 */
export const limitedFetch: CustomFetch = async (url, options) => {
  const { headers, method, body } = options;
  const signal = AbortSignal.timeout(PROVIDER_TIMEOUT_MS);
  const request = { headers, method, body: body ?? null, redirect: 'manual', signal } as RequestInit;
  try {
    const answer = await fetch(url, request);
    const content = await readLimited(answer);
    return new Response(content.length > 0 ? content : null, { status: answer.status, headers: answer.headers });
  } catch (error) {
    throw new SignInError('PROVIDER_UNAVAILABLE', reasonOf(error), { cause: error });
  }
};

/** The code of a socket is in the cause of fetch's error. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { readonly name?: unknown; readonly cause?: { readonly code?: unknown } };
  return String(cause?.code ?? name);
}

async function readLimited({ body }: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new RangeError('The answer of the identity provider is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
