import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { StartError } from '../basics/errors.ts';

/** Google's files have 2.4 KB; an RSA key of 8,192 bits would increase them to 8 KB. */
const MAX_FILE_CHARS = 16_384;

/** The required fields of a Google service account's key file, which has more. */
const accountFile = z.object({
  type: z.literal('service_account'),
  project_id: z.string().regex(/^[a-z0-9:.-]{1,64}$/),
  private_key_id: z.string().min(1).max(255).optional(),
  private_key: z.string(),
  client_email: z.string().min(3).max(320),
  token_uri: z.url(),
});

/** The gateway's identity at the push service. */
export interface ServiceAccount {
  readonly projectId: string;
  readonly email: string;
  readonly keyId: string | undefined;
  readonly privateKey: KeyObject;
  /** URL for access tokens. */
  readonly tokenUrl: URL;
}

/**
 * Reads the key file of a Google service account.
 *
 * @throws StartError BAD_CONFIG naming the wrong field, never a value
 */
export async function readServiceAccount(path: string): Promise<ServiceAccount> {
  const bad = (what: string) => new StartError('BAD_CONFIG', `FCM_SERVICE_ACCOUNT_FILE: ${path} ${what}`);
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw bad(`cannot be read (${cause.code})`);
  });
  if (text.length > MAX_FILE_CHARS) throw bad('is too large for a key file');
  const read = accountFile.safeParse(parseJson(text));
  if (!read.success) throw bad(`is no service account: see /${read.error.issues[0]?.path.join('/') ?? ''}`);
  const { project_id, private_key_id, private_key, client_email, token_uri } = read.data;
  const privateKey = importKey(private_key);
  if (!privateKey) throw bad('has no RSA key in /private_key');
  return {
    projectId: project_id,
    email: client_email,
    keyId: private_key_id,
    privateKey,
    tokenUrl: new URL(token_uri),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function importKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' ? key : undefined;
  } catch {
    return undefined;
  }
}
