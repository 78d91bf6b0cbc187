import type { PortalUser } from './portal-user.ts';

/**
 * Whether a user must set up a second factor before anything else. Users of integrators and merchants cannot use the
 * console, so they cannot set one up; a provider decides on its own second factor; a viewer without further
 * permissions changes nothing.
 *
 * @param isRequired the setting of the operator
 */
export function createMustEnrol(isRequired: boolean): (user: PortalUser) => boolean {
  return ({ provider, role, permissions, hasSecondFactor, owner: { integratorId, merchantId } }) => {
    const isOfConsole = integratorId === undefined && merchantId === undefined;
    const mayAct = role !== 'viewer' || permissions.length > 0;
    return isRequired && isOfConsole && provider === undefined && mayAct && !hasSecondFactor;
  };
}
