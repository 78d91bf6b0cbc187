-- Up Migration

-- Transactions past the retention of card data whose card a reversal, a void or a completion may still require. The
-- purge never reads the same time range twice, so it records the transactions that it has skipped, and erases these
-- cards when the transactions end.
create table purge_held_cards (
  acquirer_id integer not null,
  transaction_id uuid not null,
  primary key (acquirer_id, transaction_id)
);

-- The deadline of the switch. It cannot be computed from sent_at, which uses the clock of the node that sent it. Null
-- in rows of earlier versions.
alter table transactions add column deadline_seconds double precision;

-- Down Migration

alter table transactions drop column deadline_seconds;
drop table purge_held_cards;
