-- Up Migration

-- Payment requests: links (2.8) and intents (2.9), with ids from one sequence. transaction_id names the last tap, set
-- in the commit of the tap's row. Whether that tap still holds the link follows from its own row
-- (store/links/link-claims.ts), so an outcome requires no write here. No index on state: each step of a phone stays a
-- HOT update.
create table links (
  acquirer_id integer not null,
  id uuid not null,
  integrator_id integer not null,
  merchant_id text not null,
  kind text not null check (kind in ('link', 'intent')),
  type smallint not null check (type in (1, 2)),
  payment_reference text not null check (length(payment_reference) <= 255),
  amount_minor bigint not null check (amount_minor > 0),
  currency char(3) not null,
  is_consumer_app boolean not null,
  x_tid text,
  -- Names a person and an account, so it is sealed.
  sealed_mandate bytea,
  state smallint not null default 0 check (state between 0 and 4),
  transaction_id uuid,
  expires_at timestamptz not null,
  -- Set when the link has expired and no tap holds it: the reference is free again.
  is_expired boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (acquirer_id, id),
  foreign key (acquirer_id, merchant_id) references merchants
) with (fillfactor = 80);

-- One live or settled request for each paymentReference. Taps that name no link are also checked here.
create unique index links_by_payment_reference on links (acquirer_id, merchant_id, payment_reference) where not is_expired;

create index links_by_age on links using brin (created_at) with (autosummarize = on);

-- A tap with the token of an intent names no terminal: the terminal of its merchant is used.
alter table terminals
  add column merchant_id text,
  add foreign key (acquirer_id, merchant_id) references merchants;
create index terminals_by_merchant on terminals (acquirer_id, merchant_id) where merchant_id is not null;

alter table purge_marks drop constraint purge_marks_kind_check;
alter table purge_marks add constraint purge_marks_kind_check check (kind in ('cards', 'audit', 'webhooks', 'links'));

-- Down Migration

delete from purge_marks where kind = 'links';
alter table purge_marks drop constraint purge_marks_kind_check;
alter table purge_marks add constraint purge_marks_kind_check check (kind in ('cards', 'audit', 'webhooks'));
alter table terminals drop column merchant_id;
drop table links;
