-- Up Migration

-- A refund in review keeps its reservation on the sale until a person has resolved it. Refunds that were declined and in
-- review before have released theirs, and take it again. If more was refunded than was taken, the sale is in review, too.
with reviewed as (
  select distinct acquirer_id, original_id as id from transactions
  where needs_review and type = 4 and original_id is not null
),
reserved as (
  select r.acquirer_id, r.id, sum(t.amount_minor)::bigint as minor
  from reviewed r join transactions t on t.acquirer_id = r.acquirer_id and t.original_id = r.id and t.type = 4
  where t.disposition is null or t.disposition not in (1, 2, 3, 5) or t.needs_review or t.reversal_state in (1, 2, 4, 5)
  group by r.acquirer_id, r.id
)
update transactions s
set refunded_minor = reserved.minor,
  needs_review = s.needs_review or s.disposition <> 0 or s.void_state is not null
    or reserved.minor > coalesce(s.approved_minor, s.amount_minor)
from reserved
where s.acquirer_id = reserved.acquirer_id and s.id = reserved.id and reserved.minor > s.refunded_minor;

-- Down Migration

select 1;
