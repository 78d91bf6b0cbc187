import type { ProcessorFinding, RouteQuestion, RouteVerdict } from '#schemas/admin-routing';
import { invalidValue, NotFound } from '../../basics/errors.ts';
import { ConcurrencyLimit } from '../../basics/limits/concurrency-limit.ts';
import { readReportedFigures } from '../../console/store/stored-figures.ts';
import type { SwitchChecks } from '../../http/routes/admin-processors.ts';
import type { Processor } from '../../kits/processor-kit/processor.ts';
import type { ProcessFigures, SwitchFigures } from '../../observe/figures.ts';
import type { RouteRecord } from '../../payments/ports/directory-ports.ts';
import { chooseRoutes, misfitsOf } from '../../payments/taps/routes.ts';
import { type Database, mapConnectionLoss } from '../../store/postgres/open-database.ts';
import type { SwitchAccess } from '../../switching/switches/access/switch-access.ts';
import type { StoredProcessor } from '../../switching/switches/acquirer-switches.ts';
import { silentSwitches } from './database-findings.ts';
import { type Finding, fault, good, warning } from './finding.ts';
import { switchFindings } from './switch-findings.ts';

/** Each examination dials the addresses of a switch, for three seconds at most. */
const AT_ONCE = 4;
const WAITING = 16;
const WAITING_OF_ONE = 4;

export interface SwitchChecksParts {
  readonly database: Database;
  readonly types: ReadonlyMap<string, Processor>;
  readonly access: SwitchAccess;
}

const SIGNED_ON: readonly string[] = ['ready', 'full'];
const STORED = `select acquirer_id as "acquirerId", id, type, config from processors
  where acquirer_id = $1 and id = $2 and removed_at is null`;
const ROUTES = `select id, processor_id as "processorId", priority, currency, scheme, x_tid as "xTid", removed_at is not null as "isRemoved",
  (select type from processors p where p.acquirer_id = r.acquirer_id and p.id = r.processor_id) as type
from routes r where acquirer_id = $1 and removed_at is null order by priority, id`;
const HAS_TERMINAL = 'select from terminals where acquirer_id = $1 and x_tid = $2';

type TypedRoute = RouteRecord & { readonly type: string };

/** Examines the switches of one acquirer for its administrators: what `tapwire doctor` finds, and which switch takes a tap. */
export function createSwitchChecks({ database, types, access }: SwitchChecksParts): SwitchChecks {
  const limit = new ConcurrencyLimit({ atOnce: AT_ONCE, waitMost: WAITING, waitMostOfOne: WAITING_OF_ONE });
  const read = async <Row extends object>(text: string, values: readonly unknown[]) =>
    (await mapConnectionLoss(database.query<Row>(text, [...values]))).rows;
  const routesOf = (acquirerId: number) => read<TypedRoute>(ROUTES, [acquirerId]);

  async function examine(acquirerId: number, id: number): Promise<Finding[]> {
    const stored = await read<StoredProcessor>(STORED, [acquirerId, id]);
    if (stored.length === 0) throw new NotFound();
    const reported = (await reportedBy(database, acquirerId)).get(id) ?? [];
    const availabilities = reported.length > 0 ? { [`${acquirerId} ${id}`]: bestOf(reported) } : undefined;
    const questions = { types, stored, withoutRoute: [], access, availabilities, nowMs: Date.now() };
    const isRouted = (await routesOf(acquirerId)).some(({ processorId }) => processorId === id);
    return [
      ...(await switchFindings(questions)),
      ...ofConnections(reported),
      ...(isRouted
        ? []
        : [warning('routes', 'no route leads to the processor, so it receives no taps', 'add a route')]),
      ...(await silentSwitches(database, { acquirerId, id })),
    ];
  }

  return {
    async examine(acquirerId, id): Promise<ProcessorFinding[]> {
      const findings = await limit.run(() => examine(acquirerId, id), String(acquirerId));
      // The folder is that of the operator.
      const shown = (text: string) => text.replaceAll(`${access.tlsFolder(acquirerId)}/`, '');
      return findings.map(({ advice = null, description, ...finding }) => ({
        ...finding,
        description: shown(description),
        advice,
      }));
    },

    async checkRoutes(acquirerId, question): Promise<RouteVerdict[]> {
      const known = await read(HAS_TERMINAL, [acquirerId, question.xTid]);
      if (known.length === 0) throw invalidValue('xTid', 'is not a terminal of the acquirer');
      const routes = await routesOf(acquirerId);
      const reported = await reportedBy(database, acquirerId);
      const takesMandates = ({ type }: TypedRoute) => types.get(type)?.mandateAuthorization !== undefined;
      const isRefused = (route: TypedRoute) => question.isMandate && !takesMandates(route);
      const isReachable = ({ processorId }: RouteRecord) => SIGNED_ON.includes(bestOf(reported.get(processorId) ?? []));
      const fitting = chooseRoutes(
        routes.filter((route) => !isRefused(route)),
        question,
      );
      const reachable = fitting.filter(isReachable);
      const unavailable = fitting.filter((route) => !isReachable(route));
      const unfit = routes.filter((route) => !fitting.includes(route));
      return [
        ...reachable.map((route, index) =>
          index === 0
            ? verdictOf(route, 'chosen', 'It fits, and its switch is signed on.')
            : verdictOf(route, 'fallback', 'It fits, and comes after the routes above.'),
        ),
        ...unavailable.map((route) =>
          verdictOf(route, 'unavailable', 'It fits, but no running process is signed on to its switch.'),
        ),
        ...unfit.map((route) => verdictOf(route, 'unfit', reasonOf(route, question, isRefused(route)))),
      ];
    },
  };
}

function verdictOf({ id, processorId, priority }: RouteRecord, verdict: RouteVerdict['verdict'], reason: string) {
  return { routeId: id, verdict, reason, processorId, priority };
}

const CONDITIONS = { currency: 'currency', scheme: 'scheme', xTid: 'terminal' } as const;

function reasonOf(route: RouteRecord, question: RouteQuestion, takesNoMandates: boolean): string {
  const misfits = misfitsOf(route, question).map((name) => `the ${CONDITIONS[name]} ${route[name]}`);
  const only = misfits.length === 0 ? [] : [`It takes only ${misfits.join(' and ')}.`];
  return [...only, ...(takesNoMandates ? ['Its switch takes no mandates.'] : [])].join(' ');
}

/** The switches of an acquirer by the id of their processor, each as every running process reports it. */
async function reportedBy(database: Database, acquirerId: number): Promise<ReadonlyMap<number, SwitchFigures[]>> {
  const reported = await mapConnectionLoss(readReportedFigures<ProcessFigures>(database));
  const own = reported.flatMap(({ figures: { switches } }) =>
    switches.filter(({ name }) => idIn(name, acquirerId) > 0),
  );
  return Map.groupBy(own, ({ name }) => idIn(name, acquirerId));
}

/** The processor in a name, `<acquirer> <processor>`; 0 if it is of another acquirer. */
function idIn(name: string, acquirerId: number): number {
  const [owner, id] = name.split(' ').map(Number);
  return owner === acquirerId ? (id ?? 0) : 0;
}

/** From the best to the worst. */
const AVAILABILITIES = ['ready', 'full', 'connecting', 'down', 'closed'];

function bestOf(reported: readonly SwitchFigures[]): string {
  const known = new Set(reported.map(({ availability }) => availability));
  return AVAILABILITIES.find((each) => known.has(each)) ?? 'unknown';
}

/** All connections of the running processes, without what names the processes: they belong to no acquirer. */
function ofConnections(reported: readonly SwitchFigures[]): Finding[] {
  if (reported.length === 0) return [];
  const lines = reported.flatMap(({ lines: each }) => each);
  const signedOn = lines.filter(({ state }) => SIGNED_ON.includes(state)).length;
  const lastEchoAtMs = Math.max(...reported.map((each) => each.lastEchoAtMs ?? 0));
  const echo =
    lastEchoAtMs === 0 ? 'no echo yet' : `the last echo was answered at ${new Date(lastEchoAtMs).toISOString()}`;
  const description = `${signedOn} of ${lines.length} connections (processes: ${reported.length}) are signed on; ${echo}`;
  if (signedOn === lines.length && signedOn > 0) return [good('sign-on', description)];
  const advice = 'see the connections on the overview; each can be signed on there';
  return [(signedOn > 0 ? warning : fault)('sign-on', description, advice)];
}
