import { demoProfilePath, type Profile, readProfile } from '../phone/profile.ts';

/**
 * The profile that `--profile` names, or that of the demo; it identifies the merchant and the integrator. @throws
 * StartError BAD_CONFIG
 */
export function givenProfile(path: string | undefined): Profile {
  return readProfile(path ?? demoProfilePath(process.env.TAPWIRE_DATA ?? '.tapwire'));
}
