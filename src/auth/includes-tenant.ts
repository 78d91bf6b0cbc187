import type { Tenant } from '../payments/ports/store-ports.ts';

/** Whether `inner` is `outer` or belongs to it. */
export function includesTenant(outer: Tenant, inner: Tenant): boolean {
  return (
    outer.acquirerId === inner.acquirerId &&
    (outer.integratorId === undefined || outer.integratorId === inner.integratorId) &&
    (outer.merchantId === undefined || outer.merchantId === inner.merchantId)
  );
}
