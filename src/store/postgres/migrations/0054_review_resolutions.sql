-- Up Migration

-- What a person found in the switch's books about a transaction that needed review. A proposal waits for a second
-- person if the operator requires two.
--
-- seen: the state of the transaction that the first person saw, in the form that the code compares.
-- event_sequence: sequence number of the webhook event about the resolution; null if it caused none.
create table review_resolutions (
  acquirer_id integer not null references acquirers,
  id uuid not null,
  transaction_id uuid not null,
  books text not null check (books in ('voided', 'approved', 'adjusted')),
  reason text not null,
  state text not null check (state in ('proposed', 'done', 'rejected')),
  seen text not null,
  proposed_by text not null,
  proposed_by_user uuid,
  proposed_at timestamptz not null default clock_timestamp(),
  decided_by text,
  decided_at timestamptz,
  from_disposition smallint,
  to_disposition smallint,
  event_sequence integer,
  primary key (acquirer_id, id)
);

-- One proposal at a time for each transaction.
create unique index review_resolutions_proposed on review_resolutions (acquirer_id, transaction_id)
  where state = 'proposed';
create index review_resolutions_by_transaction on review_resolutions (acquirer_id, transaction_id, proposed_at);

-- Down Migration

drop table review_resolutions;
