import { StartError } from '../../basics/errors.ts';
import { AwsClient, type AwsFile, awsFile, NodeSha256 } from './aws-client.ts';
import { AwsHsm } from './aws-hsm.ts';

const FAULTS_NAMED = 5;
const SERVICE = 'payment-cryptography';

/**
 * Opens the keys of a configuration in AWS Payment Cryptography, and asks for one of them. A service that does not respond
 * now is used when it does. Credentials are those that programs on this machine have:
 * from the environment, a shared configuration file, a web identity, the container, or the instance.
 *
 * @param json the parsed content of the file
 * @throws StartError BAD_CONFIG naming the place in the file, or the packages that are missing
 */
export async function openAws(json: unknown, path: string): Promise<AwsHsm> {
  const { region, endpoints = endpointsOf(region), timeLimitMs, requests, keys } = parseAwsFile(json, path);
  const { SignatureV4, defaultProvider } = await packages();
  const signer = new SignatureV4({ service: SERVICE, region, credentials: defaultProvider(), sha256: NodeSha256 });
  const hsm = new AwsHsm(new AwsClient({ region, endpoints, timeLimitMs, requests, signer }), keys);
  await hsm.check();
  return hsm;
}

/** @throws StartError BAD_CONFIG naming the place in the file */
export function parseAwsFile(json: unknown, path: string): AwsFile {
  const parsed = awsFile.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `/${issue.path.join('/')} ${issue.message}`);
  throw new StartError('BAD_CONFIG', `the HSM file ${path} is wrong: ${faults.slice(0, FAULTS_NAMED).join(', ')}`);
}

function endpointsOf(region: string): { data: string; control: string } {
  const at = (plane: string) => `https://${plane}.${SERVICE}.${region}.amazonaws.com`;
  return { data: at('dataplane'), control: at('controlplane') };
}

/** The packages of AWS. They are optional, so that an installation without AWS does not have them. */
async function packages() {
  try {
    const [{ SignatureV4 }, { defaultProvider }] = await Promise.all([
      import('@smithy/signature-v4'),
      import('@aws-sdk/credential-provider-node'),
    ]);
    return { SignatureV4, defaultProvider };
  } catch (cause) {
    const names = '@smithy/signature-v4 @aws-sdk/credential-provider-node';
    throw new StartError('BAD_CONFIG', `packages for AWS are missing: npm install ${names}`, { cause });
  }
}
