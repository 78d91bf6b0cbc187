import type { RouteRecord } from '../ports/directory-ports.ts';

/** The values of a tap that select among an acquirer's routes. */
export interface RouteQuestion {
  readonly currency: string;
  readonly scheme: string | null;
  readonly xTid: string;
}

/**
 * The routes that fit, best first: ordered by priority, and the more specific one first among equals. A route
 * without a currency, scheme or terminal fits them all.
 */
export function chooseRoutes(routes: readonly RouteRecord[], question: RouteQuestion): RouteRecord[] {
  return routes
    .filter(
      (route) =>
        !route.isRemoved &&
        (route.currency === null || route.currency === question.currency) &&
        (route.scheme === null || route.scheme === question.scheme) &&
        (route.xTid === null || route.xTid === question.xTid),
    )
    .toSorted((one, other) => one.priority - other.priority || specificity(other) - specificity(one));
}

function specificity({ currency, scheme, xTid }: RouteRecord): number {
  return Number(xTid !== null) * 4 + Number(scheme !== null) * 2 + Number(currency !== null);
}
