import type { Processor } from '../../kits/processor-kit/processor.ts';
import { profileOf } from '../../kits/processor-kit/profile-of.ts';
import type { Books } from './books.ts';
import { checkBySql } from './check-by-sql.ts';
import type { Finding } from './finding.ts';

/** Twice since the acquirer counts for all its terminals, or twice at one terminal. */
const REPEATED = 'count(*) filter (where is_of_acquirer) > 1 or count(distinct tid) < count(*)';

/** The longest business day, in the dates that switches announce; an older date is ignored. */
const LONGEST_DAY = '5 days';

/**
 * I5: no STAN occurs twice in its scope (the terminal, or the acquirer) and business day. Until the first number of the
 * acquirer's counter, its terminals may have had counters of their own: then a STAN may have occurred at each terminal.
 */
export async function checkStans(books: Books, types: ReadonlyMap<string, Processor>): Promise<Finding> {
  const scopes = await readScopes(books, types);
  // First selects the STANs that occur twice at all; the business day is determined only for these few.
  const violations = `
    with scopes as (select * from json_to_recordset($1::text::json) as x("acquirerId" integer, "processorId" integer, scope text)),
    numbered as (
      select t.acquirer_id, t.id, t.stan, t.sent_at, t.tid, case when s.scope = 'terminal' then t.tid else '' end as scope,
        t.sent_at >= coalesce(b.clear_at, '-infinity') as is_of_acquirer
      from transactions t
      join routes r on r.acquirer_id = t.acquirer_id and r.id = t.route_id
      join scopes s on s."acquirerId" = r.acquirer_id and s."processorId" = r.processor_id
      left join stan_blocks b on b.scope = t.acquirer_id::text
      where t.stan is not null and t.sent_at >= coalesce($2::timestamptz, '-infinity')
    ),
    repeated as (
      select * from numbered where (acquirer_id, scope, stan) in (
        select acquirer_id, scope, stan from numbered group by 1, 2, 3 having ${REPEATED})
    ),
    dated as (
      select *, coalesce((
        select min(latest) from (
          select max(business_date) as latest from business_dates b
          where b.acquirer_id = repeated.acquirer_id and b.since <= repeated.sent_at
            and b.since > repeated.sent_at - interval '${LONGEST_DAY}'
          group by b.processor_id) as dates
      ), (sent_at at time zone 'UTC')::date) as day
      from repeated
    )
    select min(id::text) as id, concat('STAN ', stan, ' ', count(*), ' times on ', day, ' in scope ', acquirer_id, ' ', scope) as what
    from dated group by acquirer_id, scope, stan, day having ${REPEATED}`;
  return checkBySql(books, {
    check: 'I5',
    description: 'no STAN occurs twice in its scope and business day',
    lookedAt: `select count(*) from transactions where stan is not null and $1::text is not null
      and sent_at >= coalesce($2::timestamptz, '-infinity')`,
    violations,
    values: [JSON.stringify(scopes), books.since],
  });
}

interface StoredProcessor {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly type: string;
  readonly config: unknown;
}

/**
 * The scope of each processor's STANs. A processor with a missing type or invalid settings sends nothing and is
 * skipped.
 */
async function readScopes({ client }: Books, types: ReadonlyMap<string, Processor>) {
  const { rows } = await client.query<StoredProcessor>(
    'select acquirer_id as "acquirerId", id as "processorId", type, config from processors',
  );
  return rows.flatMap(({ acquirerId, processorId, type, config }) => {
    const processor = types.get(type);
    const settings = processor?.configSchema.safeParse(config);
    if (!processor || !settings?.success) return [];
    return { acquirerId, processorId, scope: profileOf(processor, settings.data).stanScope };
  });
}
