import { afterAll, beforeAll, expect, test } from 'vitest';
import { StartError } from '../../src/basics/errors.ts';
import { type Installation, startInstallation } from '../support/installation.ts';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation(); // makes the keys that prod must find
});
afterAll(() => installation.stop());

/** Why a gateway with these settings does not start. */
async function refusalOf(settings: NodeJS.ProcessEnv): Promise<string> {
  try {
    await installation.startGateway(settings);
  } catch (error) {
    if (error instanceof StartError) return error.reason;
    throw error;
  }
  return 'it started';
}

const PROD = {
  TAPWIRE_ENV: 'prod',
  TRUSTED_PROXIES: '127.0.0.1',
  BASE_URL: 'https://api.example',
  APP_URL: 'https://pay.example',
  HSM_KEYS_FILE: undefined,
};

test('a gateway in prod without an HSM does not start while terminals take PINs, and names them', async () => {
  expect(await refusalOf(PROD)).toMatch(/^There is no HSM, and 4 terminals take PINs \(.*TERM-coffee of acquirer 1/);
});

/** Why the gateway that starts with these settings does not open the switch. */
async function faultWith(settings: NodeJS.ProcessEnv): Promise<unknown> {
  installation.logLines.length = 0;
  const gateway = await installation.startGateway(settings, { isSwitchDown: true });
  await gateway.stop();
  return installation.logLines.find(({ msg }) => msg === 'processor cannot be opened')?.reason;
}

test('a switch that takes PINs is not opened without an HSM, in any environment', async () => {
  await installation.database.query('update terminals set can_take_pin = false');
  const noHsm = /processor 1 of acquirer 1 \(type-1\): it takes PINs, and there is no HSM that has the keys/;
  expect(await faultWith(PROD)).toMatch(noHsm);
  expect(await faultWith({ HSM_KEYS_FILE: undefined })).toMatch(noHsm);
});

test('a gateway in prod does not start if the HSM lacks the key of the readers', async () => {
  expect(await faultWith({ READER_PIN_KEY: 'another' })).toMatch(/the HSM refuses READER_PIN_KEY \(another\)/);
});
