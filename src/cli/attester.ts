import { SETTINGS } from '#schemas/admin-operations';
import type { StoredAttester } from '#schemas/attestation';
import { StartError } from '../basics/errors.ts';
import { readConfig } from '../start/config.ts';
import { AcquirerSettings } from '../store/settings/acquirer-settings.ts';
import { ATTESTER_SETTINGS } from '../store/settings/tenant-settings.ts';
import { signAttestation } from '../tools/phone/phone.ts';
import { flag, readNumber, readOptions, readText, readYesOrNo, text } from './arguments.ts';
import { type Commands, command } from './commands.ts';
import { settingsCommands } from './settings-commands.ts';

/**
 * `tapwire attester ...`: the services that attest an acquirer's devices. With the first one, the acquirer requires an
 * attestation for each tap.
 */
export const commands: Commands = {
  ...settingsCommands({
    noun: 'attester',
    operations: SETTINGS.attesters,
    open: (database) => new AcquirerSettings(database, ATTESTER_SETTINGS),
    key: ATTESTER_SETTINGS.key,
    flags: [
      { flag: 'name', property: 'name', value: 'TEXT', isFixed: true },
      { flag: 'issuer', property: 'issuer', value: 'ISS' },
      {
        flag: 'public-key',
        property: 'publicKey',
        value: 'FILE',
        read: (path) => readText('--public-key', path),
      },
      { flag: 'max-age', property: 'maxAgeSeconds', value: 'SECONDS', read: readNumber },
      { flag: 'required', property: 'required', value: 'yes|no', read: readYesOrNo },
      { flag: 'least-app-version', property: 'leastAppVersion', value: 'VERSION' },
    ],
    columns: {
      titles: ['ATTESTER', 'ISSUER', 'ACCEPTED FOR', 'REQUIRED', 'APP FROM'],
      cellsOf: ({ name, issuer, maxAgeSeconds, required, leastAppVersion }: StoredAttester) => [
        ...[name, issuer, `${maxAgeSeconds} s`, required ? 'yes' : 'no'],
        leastAppVersion ?? 'any',
      ],
    },
  }),
  sign: command(
    '--issuer ISS --private-key FILE --device ID [--app-version VERSION] [--untrusted]: print an attestation for tests',
    sign,
  ),
};

async function sign(args: string[]): Promise<void> {
  const words = { issuer: text, device: text, 'private-key': text, 'app-version': text };
  const values = readOptions(args, { ...words, untrusted: flag });
  const { issuer, device, untrusted, 'private-key': keyFile, 'app-version': appVersion } = values;
  if (issuer === undefined || device === undefined)
    throw new StartError('BAD_CONFIG', '--issuer and --device: are required');
  const privateKey = readText('--private-key', keyFile);
  const { TAPWIRE_AUDIENCE: audience } = readConfig(process.env);
  const verdict = untrusted ? 'untrusted' : 'trusted';
  const attested = { audience, deviceInstallationId: device, verdict, appVersion } as const;
  console.log(await signAttestation({ iss: issuer, privateKey }, attested));
}
