import { demoProfilePath, type Profile, readProfile } from '../phone/profile.ts';

/** As whom a command speaks: by the profile that `--profile` names, or by the one of the demo. @throws StartError BAD_CONFIG */
export function givenProfile(path: string | undefined): Profile {
  return readProfile(path ?? demoProfilePath(process.env.TAPWIRE_DATA ?? '.tapwire'));
}
