-- Up Migration

-- Transactions past the retention of card data whose card a reversal, a void or a completion may still need. The purge never
-- looks at the same time range twice, so it records what it has left there and erases these cards when the transactions end.
create table purge_held_cards (
  acquirer_id integer not null,
  transaction_id uuid not null,
  primary key (acquirer_id, transaction_id)
);

-- Down Migration

drop table purge_held_cards;
