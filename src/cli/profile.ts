import { createPublicKey } from 'node:crypto';
import { StartError } from '../basics/errors.ts';
import { type Profile, writeProfile } from '../tools/phone/profile.ts';
import { idOf, readOptions, readText, text } from './arguments.ts';

export const USAGE = `usage: tapwire profile --out FILE --merchant ID --terminal X-TID --user NAME
                       --issuer ISS --kid KID --private-key FILE [--audience tapwire]
                       [--acquirer ID] [--name TEXT] [--mcc 5814] [--url http://127.0.0.1:8080] [--api-key-file FILE]

Writes a file with the identity and the keys that tapwire tap and tapwire webhooks listen use. With --acquirer,
the taps open for this merchant only. It contains secrets.`;

/**
 * `tapwire profile`: writes the identity that `tapwire tap` and `tapwire webhooks listen` use: a merchant, and the
 * key with which its integrator signs tokens. The file contains secrets; its mode is 0600.
 */
export async function run(args: string[]): Promise<void> {
  const values = readOptions(args, {
    ...{ out: text, merchant: text, terminal: text, user: text, issuer: text, kid: text },
    ...{ acquirer: text, 'private-key': text, 'api-key-file': text },
    audience: { ...text, default: 'tapwire' },
    name: { ...text, default: 'Test merchant' },
    mcc: { ...text, default: '5814' },
    url: { ...text, default: `http://127.0.0.1:${process.env.PORT ?? 8080}` },
  });
  const { out, merchant, terminal, user, issuer, kid, 'private-key': keyFile } = values;
  if (!out || !merchant || !terminal || !user || !issuer || !kid || !keyFile) throw new StartError('BAD_USAGE', USAGE);
  const apiKeyFile = values['api-key-file'];
  const profile: Profile = {
    url: values.url,
    apiKey: apiKeyFile === undefined ? '' : readText('--api-key-file', apiKeyFile).trim(),
    login: { username: '', password: '' },
    ...(values.acquirer !== undefined && { acquirerId: idOf(values.acquirer, '--acquirer') }),
    merchant: { id: merchant, name: values.name, mcc: values.mcc, xTid: terminal, user },
    issuer: {
      iss: issuer,
      kid,
      audience: values.audience,
      algorithm: 'ES256',
      ...keysOf(readText('--private-key', keyFile)),
    },
  };
  writeProfile(out, profile);
  console.log(`Try: tapwire tap --profile ${out} --amount 10.00`);
}

/** @throws StartError BAD_CONFIG unless the key is on P-256, which ES256 requires */
function keysOf(privateKey: string): Pick<Profile['issuer'], 'privateKey' | 'publicKey'> {
  try {
    const publicKey = createPublicKey(privateKey);
    if (publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('the key is not on P-256');
    return { privateKey, publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
  } catch (cause) {
    throw new StartError('BAD_CONFIG', '--private-key: expected a private key on P-256, PKCS#8 as PEM', { cause });
  }
}
